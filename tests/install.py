"""Install the built zip in a real Blender or in the `bpy` wheel, use it, and disable it again.

blender --background --factory-startup --python-exit-code 1 --python tests/install.py -- ZIP
python tests/install.py -- ZIP

The caller sets BLENDER_USER_RESOURCES to a temporary folder: this installs for good.
"""

import importlib
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import bpy

MODULE = "bl_ext.user_default.fabrik_ik"


def install(package: Path) -> None:
    """Install and enable the zip as the user does with “Install from Disk”."""
    bpy.ops.extensions.package_install_files(
        filepath=str(package), repo="user_default", enable_on_install=True
    )
    assert MODULE in bpy.context.preferences.addons, "the extension is not enabled"
    assert hasattr(bpy.types.Object, "fabrik"), "Object.fabrik does not exist"


def forget_the_source() -> None:
    """Hide the solver's source, which the environments of the wheels have installed."""
    sys.path[:] = [path for path in sys.path if not Path(path, "fabrik_solver").is_dir()]


def wheels_in(package: Path) -> list[str]:
    """Return the names of the wheels in the zip."""
    with zipfile.ZipFile(package) as archive:
        return [name for name in archive.namelist() if name.endswith(".whl")]


def check_its_solver_runs(package: Path) -> None:
    """The solver is that of the zip's wheels: compiled if one of them is for this Python."""
    import fabrik_solver

    wheels = wheels_in(package)
    tag = "-cp{}{}-".format(*sys.version_info)
    is_compiled = any(tag in name for name in wheels)
    print(f"{package.name}: the solver runs {'compiled' if is_compiled else 'interpreted'}.")
    assert is_compiled == fabrik_solver.COMPILED, "what the zip has compiled is not used"
    assert all(f"-{fabrik_solver.__version__}-" in name for name in wheels), "another one runs"
    for name in ("core.chain", "motion.look"):
        file = str(importlib.import_module(f"fabrik_solver.{name}").__file__)
        assert is_compiled != file.endswith(".py"), f"{name} is not what is said to run"
        assert os.environ["BLENDER_USER_RESOURCES"] in file, f"{name} is not that of the zip"


MANUAL_SIZE = 5_000_000
"""The most that the manual may take in the zip, in bytes."""


def check_its_manual(package: Path) -> None:
    """The zip has the manual, with a place for each operator and each setting that is shown."""
    with zipfile.ZipFile(package) as archive:
        pages = [entry for entry in archive.infolist() if entry.filename.startswith("manual/")]
    size = sum(entry.compress_size for entry in pages)
    assert 0 < size < MANUAL_SIZE, f"the manual takes {size} bytes"
    assert not [page.filename for page in pages if page.filename.endswith(".gif")], "no films"
    missing = [name for name in documented() if not leads_to_a_place(name)]
    assert not missing, f"F1 does not lead to {missing}"
    print(f"{package.name}: the manual takes {size / 1e6:.1f} MB, and has all of its places.")


def documented() -> list[str]:
    """Return what Blender calls the operators and the settings that are not hidden."""
    found = [f"bpy.ops.fabrik.{name}" for name in dir(bpy.ops.fabrik)]
    groups = [kind for kind in bpy.types.PropertyGroup.__subclasses__() if is_ours(kind)]
    for kind in groups:
        for prop in kind.bl_rna.properties:
            is_shown = prop.is_runtime and not prop.is_hidden
            if is_shown and prop.type not in ("COLLECTION", "POINTER"):
                found.append(f"bpy.types.{kind.bl_rna.identifier}.{prop.identifier}")
    return found


def is_ours(kind: type) -> bool:
    """Return whether a class is registered by the extension."""
    return kind.__module__.startswith(MODULE) and getattr(kind, "is_registered", False)


def leads_to_a_place(name: str) -> bool:
    """Return whether F1 opens a page that leads to an existing anchor of another one."""
    from bl_operators.wm import WM_OT_doc_view_manual

    url = WM_OT_doc_view_manual._lookup_rna_url(name, verbose=False) or ""
    page = Path(url2pathname(urlsplit(url).path))
    found = (
        re.search(r"url=([^#]+)#([^\"]+)\"", page.read_text("utf-8")) if page.is_file() else None
    )
    if found is None:
        return False
    target = (page.parent / found[1]).resolve()
    return f'id="{found[2]}"' in target.read_text("utf-8")


def make_armature() -> bpy.types.Object:
    """Add an armature of three connected bones, 3 m long, upright and slightly bent."""
    armature = bpy.data.objects.new("Arm", bpy.data.armatures.new("Arm"))
    bpy.context.collection.objects.link(armature)
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    joints = ((0, 0, 0), (0.1, 0, 1), (0.1, 0, 2), (0, 0, 3))
    parent = None
    for number, name in enumerate(("Bone", "Bone.001", "Bone.002")):
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = joints[number], joints[number + 1]
        bone.parent, bone.use_connect = parent, parent is not None
        parent = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    return armature


def check_it_reaches() -> None:
    """The tip comes to the target, in a frame change and in an edit."""
    armature = make_armature()
    target = bpy.data.objects.new("Target", None)
    bpy.context.collection.objects.link(target)
    target.location = (1.5, 0.5, 1.0)
    item = armature.fabrik.constraints.add()
    item.bone = "Bone.002"
    item.target = target
    bpy.context.scene.frame_set(2)
    check_tip(armature, target)
    target.location = (-1.0, 1.0, 1.2)
    bpy.context.view_layer.update()
    check_tip(armature, target)


def check_tip(armature: bpy.types.Object, target: bpy.types.Object) -> None:
    """The tip's tail is where the target is, within a millimeter."""
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    tip = evaluated.matrix_world @ evaluated.pose.bones["Bone.002"].tail
    distance = (tip - target.matrix_world.translation).length
    assert distance < 1e-3, f"the tip is {distance:.4f} m from its target"


def check_the_command(folder: Path) -> None:
    """`blender --command fabrik_bake` bakes a file and says in its exit code how that went."""
    blend, baked = folder / "shot.blend", folder / "shot_baked.blend"
    bpy.ops.wm.save_userpref()
    bpy.ops.wm.save_as_mainfile(filepath=str(blend))
    before = blend.read_bytes()
    wanted = ((["--end", "5"], 0), (["--jobs", "2"], 0), (["--start", "5", "--end", "1"], 2))
    for arguments, code in wanted:
        baked.unlink(missing_ok=True)
        command = [bpy.app.binary_path, "--command", "fabrik_bake", str(blend), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{done.returncode}: {done.stdout}{done.stderr}"
        assert baked.exists() == (code == 0), "a file is written only if all is well"
        assert blend.read_bytes() == before, "the input has changed"
        print(done.stderr.strip().splitlines()[-1])


def disable() -> None:
    """Disable the extension; nothing of it may stay behind."""
    bpy.ops.preferences.addon_disable(module=MODULE)
    assert not hasattr(bpy.types.Object, "fabrik"), "Object.fabrik is still there"
    lists = (getattr(bpy.app.handlers, name) for name in dir(bpy.app.handlers))
    handlers = [handler for known in lists if isinstance(known, list) for handler in known]
    left = [handler for handler in handlers if handler.__module__.startswith(MODULE)]
    assert not left, f"handlers are still there: {left}"


if __name__ == "__main__":
    # Blender only counts an error as one (--python-exit-code) if it leaves the script.
    assert "BLENDER_USER_RESOURCES" in os.environ, "set BLENDER_USER_RESOURCES to an empty folder"
    forget_the_source()
    zipped = Path(sys.argv[sys.argv.index("--") + 1]).resolve()
    install(zipped)
    check_its_solver_runs(zipped)
    check_its_manual(zipped)
    check_it_reaches()
    if bpy.app.binary_path:
        with tempfile.TemporaryDirectory() as name:
            check_the_command(Path(name))
    else:
        print("The command line needs Blender itself, and was left out.")
    disable()
    print(f"Installed, used and disabled in Blender {bpy.app.version_string}: all is well.")
    if not bpy.app.binary_path:
        # The wheel of 4.2 may crash while it exits, after everything else is done.
        sys.stdout.flush()
        os._exit(0)
