"""Reports fit into the status bar, and say what is known of a limb."""

import re
from typing import Any

import bpy
import pytest
from humans import make_human
from operating import click_bones
from rigs import make_chain

from tools.texts import messages

MOST = 90
"""Characters that a short status bar has room for."""


def fits(text: str) -> bool:
    return len(text) <= MOST


@pytest.fixture(scope="module")
def every() -> list[str]:
    """Every message, with names in it as animators give them."""
    return [re.sub("…", "mixamorig:LeftHand", text) for text in messages()]


def test_whatever_is_reported_fits_and_is_not_cut_within_a_word(addon: Any, every: Any) -> None:
    from addon.ui.reporting import fitting

    long = [text for text in every if not fits(text)]
    assert len(long) > 50
    for text in every:
        brief = fitting(text, fits)
        assert fits(brief)
        if fits(text):
            assert brief == text
            continue
        start = brief.removesuffix(" …")
        assert text.startswith(start) and start != brief
        assert not text[len(start)].isalnum(), brief


def test_whole_sentences_are_kept_where_one_fits(addon: Any) -> None:
    from addon.ui.reporting import fitting

    first, second = "Added IK to “hand.L”: move “hand IK.L”", "No hinge for “forearm.L”. Or two"
    assert fitting(f"{first}. {second}", lambda text: len(text) < 60) == f"{first} …"
    # 0.5 does not end a sentence.
    assert fitting("It took 0.5 seconds to do. Then more", lambda text: len(text) < 30) == (
        "It took 0.5 seconds to do …"
    )


def test_languages_without_spaces_are_cut_between_characters(addon: Any) -> None:
    from addon.ui.reporting import fitting

    text = "手を選択してから、Add IK Limb を押してください" * 3
    brief = fitting(text, lambda text: len(text) < 20)
    assert 15 < len(brief) < 20
    assert text.startswith(brief.removesuffix(" …"))


def test_the_whole_text_is_reported_before_what_fits_of_it(
    addon: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.ui import reporting

    monkeypatch.setattr(reporting, "_fits", lambda text: len(text) < 30)
    said: list[tuple[set[str], str]] = []

    class Operator:
        def report(self, kind: set[str], text: str) -> None:
            said.append((kind, text))

    reporting.say(Operator(), "INFO", "All is well. But there is more to it than that")
    assert said == [
        ({"INFO"}, "All is well. But there is more to it than that"),
        ({"INFO"}, "All is well …"),
    ]
    said.clear()
    reporting.say(Operator(), "ERROR", "This is wrong for a very long reason. Change it")
    assert len(said) == 1, "its popup has room"


@pytest.mark.parametrize(
    ("bend", "said"),
    [
        ("AUTO", "“forearm.L”: bend direction from the rest pose"),
        (
            "FLIPPED",
            "“forearm.L”: opposite of the bend direction from the rest pose",
        ),
    ],
)
def test_the_redo_panel_of_a_limb_says_what_tells_its_bend(
    bend: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from addon.features.constraint import limb

    rig = make_human(False)
    click_bones(rig, "hand.L")
    stored: list[str] = []
    monkeypatch.setattr(limb, "store", stored.append)
    assert bpy.ops.fabrik.limb_add(bend=bend) == {"FINISHED"}
    assert stored == [said]


def test_a_straight_chain_says_that_nothing_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    from addon.features.constraint import limb

    rig = make_chain(2, joints=[(0, 0, 0), (0, 0, 1), (0, 0, 2)])
    click_bones(rig, "B1")
    stored: list[str] = []
    monkeypatch.setattr(limb, "store", stored.append)
    assert bpy.ops.fabrik.limb_add() == {"FINISHED"}
    assert stored[0].startswith("“B1”: bend direction unknown, because straight")


def test_recognize_says_what_tells_how_limbs_bend(capfd: pytest.CaptureFixture[str]) -> None:
    rig = make_human(False)
    click_bones(rig, "hand.L")
    assert bpy.ops.fabrik.character_recognize() == {"FINISHED"}
    report = capfd.readouterr().out
    assert "Recognized 2 arms, 2 legs" in report
    assert "bend direction from the rest pose" in report
    assert "“forearm.L”" in report and "“shin.R”" in report
