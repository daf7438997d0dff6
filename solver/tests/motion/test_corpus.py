"""How much of the corpus is recognized: what changes in the evidence is not to lose any of it."""

from collections.abc import Callable

import pytest
from corpus import cases, measure


@pytest.mark.long
def test_most_answers_are_right_and_few_are_wrong_in_silence(
    figure: Callable[[str, str], None],
) -> None:
    counts, _ = measure(cases())
    for outcome in ("right", "wrong and said", "wrong and silent"):
        figure(f"recognition: {outcome}", str(counts[outcome]))
    assert counts["right"] >= 31_090 and counts["wrong and silent"] <= 55
