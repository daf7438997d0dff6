"""The README's code is run, and prints what stands below it."""

import re
from pathlib import Path

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"
PIECE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def test_code_prints_what_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text(encoding="utf-8")
    pieces = PIECE.findall(text)
    assert len(pieces) == text.count("```python") >= 5
    names: dict[str, object] = {}
    for code, printed in pieces:
        exec(compile(code, str(README), "exec"), names)
        assert capsys.readouterr().out == printed
