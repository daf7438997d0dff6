"""What the commands of the Makefile stand on."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tools import complexity, environment, state

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


def test_each_bar_of_complexity_holds_so_many_functions() -> None:
    functions = [complexity.Function(number, f"f{number}") for number in (21, 16, 11, 10)]
    assert [*complexity.problems(functions, {10: 3, 15: 2, 20: 1})] == []
    (problem,) = complexity.problems(functions, {10: 3, 15: 1, 20: 1})
    assert problem.startswith("2 functions are above 15, 1 may be:")
    assert "f16" in problem and "f11" not in problem


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


@pytest.fixture
def real_blender(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The tool, on a machine that has nothing but what a test puts on the PATH."""
    monkeypatch.syspath_prepend(str(state.ROOT / "tools"))
    tool = importlib.import_module("real_blender")
    monkeypatch.setattr(tool, "PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("BLENDER", raising=False)
    return tool


def install(path: Path, version: str) -> str:
    path.write_text(f"#!/bin/sh\necho Blender {version} LTS\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_a_real_blender_is_the_one_that_is_named(
    real_blender: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(tmp_path / "blender", f"{real_blender.WANTED}.1")
    monkeypatch.setenv("BLENDER", install(tmp_path / "old", "4.2.0"))
    assert real_blender.real_blender() == str(tmp_path / "old")
    monkeypatch.setenv("BLENDER", str(tmp_path / "none"))
    with pytest.raises(real_blender.SetupError, match=r"none, which BLENDER names, could not be"):
        real_blender.real_blender()


def test_a_real_blender_is_the_newest_on_the_path(real_blender: ModuleType, tmp_path: Path) -> None:
    expected = install(tmp_path / "blender", f"{real_blender.WANTED}.1")
    assert real_blender.real_blender() == expected


def test_where_there_is_no_real_blender_a_line_says_why(
    real_blender: ModuleType, tmp_path: Path
) -> None:
    old = install(tmp_path / "blender", "3.6.0")
    with pytest.raises(real_blender.SetupError) as error:
        real_blender.real_blender()
    told = str(error.value)
    assert f"({old} is 3.6)" in told
    assert "BLENDER=…" in told and "\n" not in told
