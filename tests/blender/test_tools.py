"""What the commands of the Makefile stand on."""

import sys
from pathlib import Path

import pytest

from tools import environment, state

PRINTS_AND_FAILS = "import sys; print('out', flush=True); sys.exit('err')"


def test_what_a_failed_tool_printed_is_in_a_log_that_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(environment, "ROOT", tmp_path)
    log = tmp_path / "made" / "some.log"
    with pytest.raises(environment.SetupError, match=r"failed.* in made.some\.log$"):
        environment.run_logged(log, sys.executable, "-c", PRINTS_AND_FAILS)
    with pytest.raises(environment.SetupError, match=r"failed.* in made.some\.log$"):
        environment.run_logged(log, tmp_path / "nothing")
    lines = log.read_text(encoding="utf-8").splitlines()
    assert lines[1:3] == ["out", "err"]
    assert [line[:2] for line in lines].count("$ ") == 2
    assert capfd.readouterr() == ("", "")


def test_a_compiled_solver_is_used_only_if_it_is_of_this_source(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state, "COMPILED", tmp_path)
    assert state.compiled() is None
    version = (state.PACKAGE / "__init__.py").read_text(encoding="utf-8")
    there = tmp_path / "fabrik_solver" / "__init__.py"
    there.parent.mkdir()
    there.write_text(state.marked(version, "0" * 12), encoding="utf-8")
    assert state.compiled() is None
    there.write_text(state.marked(version, state.digest()), encoding="utf-8")
    assert state.compiled() == tmp_path
