"""The benchmark runs, in a process of its own, so that it cannot rot between two uses."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import bpy
import pytest

ROOT = Path(__file__).resolve().parents[2]
RUN = ROOT / "benchmarks" / "run.py"
TITLES = ("Frame cost", "Skinned", "Idle", "Sweeps", "Long chains", "Memory")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN)]
    if bpy.app.binary_path:
        options = ["--background", "--factory-startup", "--python-exit-code", "1", "--python"]
        command = [bpy.app.binary_path, *options, str(RUN), "--"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)


def test_every_section_of_the_benchmark_runs() -> None:
    done = run("--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not [title for title in TITLES if f"{title}\n{'=' * len(title)}" not in done.stdout]
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not in this Python")
def test_the_page_shows_all_pictures_that_are_written(tmp_path: Path) -> None:
    done = run("--quick", "sweeps", "--to", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    pictures = [path.name for path in tmp_path.glob("*.png")]
    assert len(pictures) == 2
    assert all(f"]({name})" in page for name in pictures)
    assert str(ROOT) not in page
