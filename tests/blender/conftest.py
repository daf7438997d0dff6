"""What every test in Blender stands on: the registered add-on and an empty file.

Serves the `bpy` wheel (pytest is started by Python) and a real Blender (by tests/run.py) alike.
Fixtures of other files that make data request `empty_file`, to run after it.
"""

import gc
import os
import sys
from collections.abc import Iterator
from types import ModuleType

import bpy
import pytest
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from kept_files import new_file
from once import pytest_collection_modifyitems as pytest_collection_modifyitems

# Hypothesis also draws numbers from the modules loaded so far. Examples would then depend on
# earlier tests, and on the modules' places in memory.
providers._get_local_constants = Constants


def pytest_report_header() -> str:
    kind = "real Blender" if bpy.app.binary_path else "bpy wheel"
    python = "{}.{}.{}".format(*sys.version_info)
    return f"Blender {bpy.app.version_string} ({kind}, Python {python})"


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Have Python's garbage collector leave the modules and the list of all tests alone.

    It would look through half a million objects again and again, and find nothing. It also looks
    through new ones after 50,000 of them, not 700: a frame makes thousands, hardly any in circles.
    """
    gc.freeze()
    gc.set_threshold(50_000)


STATUS = pytest.StashKey[int]()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[STATUS] = int(exitstatus)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """End at once after all was reported, where Blender cannot be trusted to end well.

    If Python drops its modules in an unlucky order, the wheel of 4.2 frees Blender's own panels
    after Python has ended, and crashes. Any test file may change that order. The wheel of 4.5 may
    wait for itself forever once it has found memory that wasn't freed.
    """
    if not bpy.app.binary_path and bpy.app.version < (5, 0):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(config.stash.get(STATUS, 1))


@pytest.fixture(scope="session")
def addon() -> Iterator[ModuleType]:
    """The add-on's package, registered for the whole session."""
    import addon

    try:
        addon.register()
        yield addon
    finally:
        try:
            addon.unregister()
        finally:
            clear_handlers()


def clear_handlers() -> None:
    """Leave no handler of ours behind, even if registering broke off half-way.

    A wheel that ends with one crashes (4.2) or hangs (4.5), and the true error is never seen.
    """
    for name in dir(bpy.app.handlers):
        handlers = getattr(bpy.app.handlers, name)
        if isinstance(handlers, list):
            handlers[:] = [one for one in handlers if not one.__module__.startswith("addon")]


@pytest.fixture(scope="session")
def own_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder for Blender's own files, as copied poses: other runs have theirs."""
    return str(tmp_path_factory.mktemp("blender"))


@pytest.fixture(autouse=True)
def empty_file(addon: ModuleType, own_folder: str) -> None:
    """Each test starts in a new, empty file with factory settings."""
    new_file()
    bpy.context.preferences.filepaths.temporary_directory = own_folder


@pytest.fixture
def silent(empty_file: None, capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Whatever happens to the data, no handler breaks."""
    yield
    printed = "".join(capfd.readouterr())
    assert "Traceback" not in printed
    assert "could not" not in printed


@pytest.fixture
def evaluations(empty_file: None) -> Iterator[list[float]]:
    """What the driver of `rigs.watch` sees: one value for each evaluation of the pose."""
    seen: list[float] = []
    bpy.context.preferences.filepaths.use_scripts_auto_execute = True
    bpy.app.driver_namespace["note_evaluation"] = lambda x: seen.append(x) or 0.0
    yield seen
    del bpy.app.driver_namespace["note_evaluation"]
    bpy.context.preferences.filepaths.use_scripts_auto_execute = False
