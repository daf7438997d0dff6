"""One Blender with a window for the whole suite, and what it showed when a test failed."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from window import FOLDER, NoWindowError, Window, opened


@pytest.fixture(scope="session")
def blender() -> Iterator[Window]:
    """The window, with the built zip installed."""
    with ExitStack() as stack:
        try:
            window = stack.enter_context(opened())
        except NoWindowError as error:
            pytest.skip(str(error))
        # Smooth edges take software OpenGL most of its time.
        window.ask("bpy.context.preferences.system.viewport_aa = 'OFF'")
        yield window


@pytest.fixture
def window(blender: Window, request: pytest.FixtureRequest) -> Iterator[Window]:
    """The window with a new file; the last picture that a test took of it is kept."""
    blender.ask("empty()")
    blender.until("is_up()")
    blender.last = None
    yield blender
    if blender.is_running():
        blender.key("Escape")
        blender.save(blender.last or blender.picture(), FOLDER / f"{request.node.name}.png")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Show beside a failure where its picture and Blender's own words are."""
    report = yield
    window = item.funcargs.get("blender")
    if report.failed and window is not None:
        told = [f"log: {FOLDER / 'blender.log'}"]
        if window.is_running():
            picture = FOLDER / f"failed-{item.name}.png"
            window.save(window.picture(), picture)
            told.append(f"picture: {picture}")
        report.sections.append(("Blender", "\n".join(told)))
    return report
