"""A real Blender on a virtual screen: real events in, state and pictures out.

What the animator does is done with mouse and keyboard. The agent inside (agent.py) only sets the
stage and reports the state. Places on the screen are counted from its upper left corner.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "ui" / os.environ.get("PYTEST_XDIST_WORKER", "")
"""What the window shows and reports; tests that run side by side have a window each."""
WIDTH, HEIGHT = 1600, 1000
PATIENCE = 30.0
"""Seconds for what a click or key sets off; software OpenGL on a busy machine is slow."""

Place = Sequence[float]
"""Where on the screen, in pixels: across, down."""

Box = Sequence[float]
"""A part of the screen: left, top, width and height in pixels."""

SCREEN = (0, 0, WIDTH, HEIGHT)


REDRAWN = 500
"""How many pixels differ at least once a panel has opened."""

HIGH = 8
"""No button is less high, in pixels."""

Programs = Mapping[str, str]
"""The paths of programs, by their names."""

PROGRAMS = ("Xvfb", "xdotool", "import", "convert")

FILMING = "ffmpeg"
"""What only films need."""

Row = tuple[str, int, int]
"""What a button calls or sets, and its highest and lowest pixel on the screen."""


class NoWindowError(Exception):
    """Blender, or what shows and uses its window, is missing; the message says what."""


@dataclass(frozen=True)
class Picture:
    """What the screen showed: three bytes a pixel, row by row."""

    pixels: bytes

    def color(self, place: Place) -> tuple[int, ...]:
        """Return red, green and blue of a pixel."""
        start = 3 * (round(place[1]) * WIDTH + round(place[0]))
        return tuple(self.pixels[start : start + 3])

    def like(self, color: Sequence[int], box: Box, off: int = 40) -> int:
        """Return how many pixels of a part of the screen have nearly a color."""
        left, top, width, height = map(int, box)
        return sum(
            all(abs(a - b) <= off for a, b in zip(self.color((x, y)), color, strict=True))
            for y in range(top, top + height)
            for x in range(left, left + width)
        )

    def differs_at(self, other: Picture, places: Sequence[Place], around: int = 2) -> list[bool]:
        """Return for each place whether pixels there differ from those of another picture."""
        size = 2 * around + 1
        return [
            self.differing(other, (round(x) - around, round(y) - around, size, size)) > 0
            for x, y in places
        ]

    def differing(self, other: Picture, box: Box = SCREEN) -> int:
        """Return how many pixels of a part of the screen differ from those of another picture."""
        left, top, width, height = map(int, box)
        count = 0
        for row in range(top, top + height):
            start, end = 3 * (row * WIDTH + left), 3 * (row * WIDTH + left + width)
            mine, its = self.pixels[start:end], other.pixels[start:end]
            if mine != its:
                count += sum(mine[i : i + 3] != its[i : i + 3] for i in range(0, len(mine), 3))
        return count


class Window:
    """A running Blender, with a window that fills the screen."""

    def __init__(self, programs: Programs, display: str, process: subprocess.Popen[bytes]) -> None:
        """Know what uses it, where it is, and its process."""
        self._programs = programs
        self._environment = {**os.environ, "DISPLAY": display}
        self._process = process
        self.mouse: Place = (0, 0)
        self.last: Picture | None = None
        self._found: dict[tuple[str, str], Place] = {}

    def is_running(self) -> bool:
        """Return whether Blender is still there."""
        return self._process.poll() is None

    def ask(self, text: str) -> Any:
        """Run Python in Blender and return the value of its last line, as JSON can hold it."""
        answer = FOLDER / "answer.json"
        unfinished = FOLDER / "question.part"
        unfinished.write_text(text, encoding="utf-8")
        unfinished.rename(FOLDER / "question.py")
        end = time.monotonic() + 2 * PATIENCE
        while not answer.exists():
            code = self._process.poll()
            assert code is None, f"Blender has ended ({code}); asked was: {text}"
            assert time.monotonic() < end, f"Blender does not answer; asked was: {text}"
            time.sleep(0.01)
        told = json.loads(answer.read_text(encoding="utf-8"))
        answer.unlink()
        assert "error" not in told, f"{text}\n{told['error']}"
        return told["value"]

    def until(self, text: str, seconds: float = PATIENCE) -> Any:
        """Ask again and again until the answer is true, and return it."""
        end = time.monotonic() + seconds
        while not (value := self.ask(text)):
            assert time.monotonic() < end, f"not so within {seconds:.0f} s: {text}"
            time.sleep(0.05)
        return value

    def move(self, place: Place) -> None:
        """Move the mouse."""
        self.mouse = place
        self._xdotool("mousemove", *(str(round(x)) for x in place))

    def click(self, place: Place | None = None) -> None:
        """Press the left button, at a place or where the mouse is."""
        if place is not None:
            self.move(place)
        self._xdotool("click", "1")

    def press(self) -> None:
        """Press the left button and hold it."""
        self._xdotool("mousedown", "1")

    def release(self) -> None:
        """Let the left button go."""
        self._xdotool("mouseup", "1")

    def slide(self, across: float, down: float) -> None:
        """Move the mouse from where it is, in steps, as a hand does."""
        x, y = self.mouse
        for share in (0.1, 0.4, 0.7, 1.0):
            self.move((x + share * across, y + share * down))
            time.sleep(0.05)

    def key(self, name: str) -> None:
        """Press a key, such as ``g`` or ``ctrl+z``, where the mouse is."""
        self._xdotool("key", name)

    @contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Hold a modifier key."""
        self._xdotool("keydown", name)
        try:
            yield
        finally:
            self._xdotool("keyup", name)

    def choose(self, menu: Place, command: str) -> None:
        """Open a menu with a click and choose what is in it, by its name, as typing there does."""
        before = self.picture()
        self.click(menu)
        opened = self.drawn(before, SCREEN, 10_000)
        self.key("space")
        self.drawn(opened, SCREEN, 10_000)
        self.type(command)
        typed = self.settled()
        self.key("Return")
        self.drawn(typed, SCREEN, 10_000)

    def click_in_redo_panel(self, row: int) -> None:
        """Open the panel of the last operation with a click, and click a row below its title."""
        closed = self.settled()
        left, top, _, height = self.ask("box('HUD')")
        self.click((left + 12, top + height / 2))
        self.drawn(closed, self.ask("box('HUD')"), REDRAWN)
        self.settled()
        left, top, width, _ = self.ask("box('HUD')")
        scale = self.ask("bpy.context.preferences.system.ui_scale")
        self.click((left + 0.6 * width, top + 22 * (row + 1) * scale))

    def type(self, text: str) -> None:
        """Type a text."""
        self._xdotool("type", "--delay", "40", "--", text)

    def find(self, button: str, region: str = "UI", *, is_wide: bool = False) -> Place:
        """Return where a button of the 3D view is, by moving the mouse over the region.

        Where it was found before is where it is looked for first.

        Args:
            button: Part of the command that it calls, such as ``fabrik.pole_add``, or of the path
                of what it sets.
            region: The sidebar, or ``TOOLS`` for the toolbar.
            is_wide: Whether it fills the right half of the region, so that one column is enough.
        """
        places = self.ask(f"grid({region!r}, {is_wide})")
        if (button, region) in self._found:
            places.insert(0, self._found[button, region])
        for patience in (0.08, 0.5):
            for place in places:
                self.move(place)
                time.sleep(patience)  # Nothing shows that Blender found no button there.
                if button in self.ask(f"hovered({region!r})"):
                    self._found[button, region] = place
                    return place
        raise AssertionError(f"there is no button with {button}")

    def under(self, place: Place, region: str = "UI") -> str:
        """Return what the button at a place calls or sets; an empty text without one."""
        self.move(place)
        found = None
        for _ in range(10):  # Nothing shows that Blender found no button there.
            time.sleep(0.08)
            before, found = found, self.ask(f"hovered({region!r})")
            if found == before:
                break
        return found or ""

    def rows(self, across: float, top: int, bottom: int) -> list[Row]:
        """Return the buttons of the sidebar that lie on a line from top to bottom."""
        found: list[Row] = []
        y = top
        while y < bottom:
            if what := self.under((across, y)):
                row = (what, self._edge(what, across, y, -1), self._edge(what, across, y, 1))
                found.append(row)
                y = row[2]
            y += HIGH
        return found

    def _edge(self, what: str, across: float, y: int, way: int) -> int:
        """Return the last pixel up or down at which the same button is."""
        step = HIGH
        while step:
            if self.under((across, y + way * step)) == what:
                y += way * step
            else:
                step //= 2
        return y

    def picture(self) -> Picture:
        """Return what the screen shows."""
        self.last = Picture(self.program("import", "-window", "root", "-depth", "8", "rgb:-"))
        return self.last

    def settled(self) -> Picture:
        """Return what the screen shows once that changes no more."""
        end = time.monotonic() + PATIENCE
        time.sleep(0.3)  # What a script has changed is drawn with Blender's next turn.
        last = self.picture()
        while time.monotonic() < end:
            time.sleep(0.4)
            now = self.picture()
            if now == last:
                return now
            last = now
        raise AssertionError(f"the picture does not come to rest within {PATIENCE:.0f} s")

    def drawn(self, before: Picture, box: Box, least: int) -> Picture:
        """Return what the screen shows once that many pixels of a part are not as before."""
        end = time.monotonic() + PATIENCE
        while (count := (now := self.picture()).differing(before, box)) < least:
            assert time.monotonic() < end, f"only {count} pixels of {list(box)} have changed"
            time.sleep(0.2)
        return now

    def save(self, picture: Picture, path: Path) -> None:
        """Write a picture as PNG; 256 colors do for an interface and make the file small."""
        raw = ("-size", f"{WIDTH}x{HEIGHT}", "-depth", "8", "rgb:-")
        path.write_bytes(
            self.program("convert", *raw, "-colors", "256", "png8:-", given=picture.pixels)
        )

    def _xdotool(self, *words: str) -> None:
        self.program("xdotool", *words)

    def program(self, *words: str, given: bytes | None = None) -> bytes:
        """Run a program on Blender's screen, and return what it writes."""
        return subprocess.run(
            [self._programs[words[0]], *words[1:]],
            env=self._environment,
            input=given,
            stdout=subprocess.PIPE,
            check=True,
        ).stdout


def built_package() -> Path:
    """The built zip for any platform: that for this one may have nothing for Blender's Python."""
    packages = sorted((ROOT / "dist").glob("fabrik_ik-*[0-9].zip"))
    assert packages, "there is no zip in dist/ to install: run “make package”"
    return packages[-1]


@contextmanager
def opened() -> Iterator[Window]:
    """Start Blender, install the extension's built zip, and end all of it whatever happens.

    Raises:
        NoWindowError: If something is missing that the machine does not have.
    """
    package = built_package()
    programs = found()
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "user").mkdir(parents=True)
    with _screen(programs["Xvfb"]) as display, _blender(programs["blender"], display) as blender:
        window = Window(programs, display, blender)
        window.until("is_up()")
        window.ask(f"set_up({str(package)!r})")
        yield window


def found() -> Programs:
    """Return the paths of Blender and of what uses its window; those beside it come first.

    Raises:
        NoWindowError: If one of them is missing.
    """
    told = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "real_blender.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    if told.returncode:
        raise NoWindowError(told.stderr.strip().rpartition("\n")[2])
    blender = Path(told.stdout.strip())
    places = os.pathsep.join((str(blender.parent), os.environ.get("PATH", "")))
    programs = {name: shutil.which(name, path=places) for name in (*PROGRAMS, FILMING)}
    missing = [name for name in PROGRAMS if programs[name] is None]
    if missing:
        raise NoWindowError(f"no {', '.join(missing)} on the PATH, to use Blender's window with")
    return {"blender": str(blender), **{name: path for name, path in programs.items() if path}}


@contextmanager
def _screen(server: str) -> Iterator[str]:
    """Run a virtual screen within a context, and give its X display."""
    size = ("-screen", "0", f"{WIDTH}x{HEIGHT}x24")
    # It takes a free number, and reports it once it can be used.
    with _started([server, "-displayfd", "1", *size], subprocess.PIPE) as process:
        assert process.stdout is not None
        number = process.stdout.readline().decode().strip()
        assert number, "there is no virtual screen"
        yield f":{number}"


@contextmanager
def _blender(command: str, display: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run Blender within a context, with a window that fills a screen, and the agent inside."""
    agent = ROOT / "tests" / "ui" / "agent.py"
    fill = ("--gpu-backend", "opengl", "--window-geometry", "0", "0", str(WIDTH), str(HEIGHT))
    words = (*fill, "--factory-startup", "--python", str(agent), "--", str(FOLDER))
    user = {"DISPLAY": display, "BLENDER_USER_RESOURCES": str(FOLDER / "user")}
    with (
        (FOLDER / "blender.log").open("wb") as log,
        _started([command, *words], log, **user) as process,
    ):
        yield process


@contextmanager
def _started(
    command: Sequence[str], output: IO[bytes] | int, **environment: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program within a context, as a group of processes, which is ended as one."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        stdout=output,
        stderr=subprocess.STDOUT if output != subprocess.PIPE else subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for how in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, how)
            with suppress(subprocess.TimeoutExpired):
                process.wait(2.0)
