"""Make the manual's moving pictures and pictures of the window, from a real Blender.

python3 tests/ui/films.py [NAME…]    (or: make pictures)

Each is played with mouse and keys, as a reader of the manual would. They are written to
docs/images; look at them before you commit them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path

from figure import POSE_MENU
from window import HEIGHT, ROOT, SCREEN, WIDTH, Box, Place, Window, opened

IMAGES = ROOT / "docs" / "images"
LARGEST = 1_500_000
RATE = 8
"""Frames a second."""

ARROW = (*("#" * i for i in range(1, 13)), "#" * 7, "### ##", "##  ##", "#    ##", "     ##")
"""The mouse, which is not on pictures of a screen."""


class Film:
    """What the screen shows, frame by frame."""

    def __init__(self, window: Window) -> None:
        """Begin without frames."""
        self.window = window
        self.frames: list[bytes] = []

    def take(self, times: int = 1) -> None:
        """Add a frame, and let it stand for so many."""
        pixels = bytearray(self.window.picture().pixels)
        left, top = map(round, self.window.mouse)
        for down, row in enumerate(ARROW):
            for across, mark in enumerate(row):
                x, y = left + across, top + down
                if mark == "#" and 0 <= x < WIDTH and 0 <= y < HEIGHT:
                    edge = across in (0, len(row) - 1) or down in (0, len(ARROW) - 1)
                    at = 3 * (y * WIDTH + x)
                    pixels[at : at + 3] = b"\0\0\0" if edge else b"\xff\xff\xff"
        self.frames += [bytes(pixels)] * times

    def glide(self, *places: Place, steps: int = 8) -> None:
        """Move the mouse from place to place, with a frame for each step."""
        for place in places:
            x, y = self.window.mouse
            for i in range(1, steps + 1):
                share = i / steps
                share *= share * (3.0 - 2.0 * share)
                self.window.move((x + share * (place[0] - x), y + share * (place[1] - y)))
                time.sleep(0.15)
                self.take()

    def play(self, frames: Iterable[int]) -> None:
        """Add a frame for each of some frames of the scene."""
        for frame in frames:
            self.window.ask(f"go({frame})")
            time.sleep(0.3)
            self.take()

    def save(self, name: str, box: Box, width: int = 720) -> Path:
        """Write a part of the screen as an endless GIF."""
        left, top, across, down = map(int, box)
        filters = (
            f"crop={across}:{down}:{left}:{top},scale={width}:-1:flags=lanczos,split[a][b];"
            "[a]palettegen=max_colors=96:stats_mode=full[p];"
            "[b][p]paletteuse=dither=none:diff_mode=rectangle"
        )
        raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{WIDTH}x{HEIGHT}", "-r", str(RATE))
        path = IMAGES / name
        path.write_bytes(
            self.window.program(
                *("ffmpeg", "-v", "error", *raw, "-i", "-", "-vf", filters),
                *("-loop", "0", "-f", "gif", "-"),
                given=b"".join(self.frames),
            )
        )
        return path


def still(window: Window, name: str) -> Path:
    """Write what the screen shows as a picture."""
    path = IMAGES / name
    window.save(window.settled(), path)
    return path


def stage(window: Window, setting: str, arrange: str = "panel", sample: str = "") -> None:
    """Set the stage, with our tab in the sidebar, in a new file or a sample."""
    for _ in range(2):  # Menus of the picture before.
        window.key("Escape")
    window.ask("empty()")
    window.until("is_up()")
    window.ask("bpy.context.preferences.system.viewport_aa = 'OFF'")
    if sample:
        window.ask(f"open_sample({sample!r})")
        window.until("is_up()")
    window.ask(setting)
    window.settled()
    window.ask(f"arrange({arrange!r})")
    window.until("open_tab()")
    time.sleep(3.0)  # The sidebar comes gliding in.


def view_of(window: Window) -> Box:
    """Return the part of the screen with the 3D view and the sidebar."""
    left, top, _width, height = window.ask("box()")
    return (left, top, WIDTH - left, height)


def seen(window: Window, what: str) -> Place:
    """Return where a place of the world is on the screen, given as Python."""
    return window.ask(f"list(seen({what}))")


def reach(window: Window) -> Path:
    """Move a target with G, then its pole: the arm follows, and the elbow swivels."""
    stage(window, "prepare('pole')")
    film = Film(window)
    for name, ways in (
        ("Target", ((-60, 160), (140, 30), (0, 0))),
        ("Forearm Pole", ((-420, -60), (-300, 200), (0, 0))),
    ):
        window.ask(f"take({name!r})")
        x, y = seen(window, f"bpy.data.objects[{name!r}].location")
        window.move((x, y))
        window.settled()
        film.take(4)
        window.key("g")
        film.glide(*((x + across, y + down) for across, down in ways))
        window.click()
        film.take(4)
    return film.save("reach.gif", view_of(window))


def drag(window: Window) -> Path:
    """Drag the hand with the tool, then a bone that no constraint poses."""
    stage(window, "prepare('pole')")
    window.ask("take_tool('fabrik.drag')")
    film = Film(window)
    for bone, ways in (
        ("Hand", ((-260, 40), (-120, 200), (0, 0))),
        ("Head", ((90, 60), (-40, 40))),
    ):
        x, y = seen(window, f"middle('Figure', {bone!r})")
        window.move((x, y))
        window.settled()
        film.take(4)
        window.press()
        film.glide(*((x + across, y + down) for across, down in ways))
        window.release()
        film.take(4)
    return film.save("drag.gif", view_of(window))


def switch(window: Window) -> Path:
    """Switch an animated arm to FK: it stays in place, and can be rotated from there on."""
    stage(window, "prepare_film('sample')")
    film = Film(window)
    film.play(range(1, 21, 2))
    film.glide(window.find("to='FK'"), steps=4)
    film.take(4)
    window.click()
    window.until("bpy.data.objects['Figure'].fabrik.constraints[0].influence == 0")
    window.settled()
    film.take(6)
    x, y = seen(window, "middle('Figure', 'Forearm')")
    film.glide((x, y), steps=4)
    window.click()
    window.settled()
    window.key("r")
    film.glide((x + 40, y + 120), (x - 20, y - 60), steps=6)
    window.click()
    film.take(6)
    return film.save("switch.gif", view_of(window))


def snake(window: Window) -> Path:
    """Play a free chain."""
    stage(window, "prepare_film('snake')")
    window.ask("look_at((0, 1.0, 0), 5.0, 30.0, 55.0)")
    film = Film(window)
    film.play(range(1, 89, 3))
    return film.save("snake.gif", view_of(window))


def keys(window: Window, *names: str) -> None:
    """Press keys one after the other, and wait for what each draws."""
    for name in names:
        window.key(name)
        time.sleep(0.25)


def number(window: Window, text: str) -> None:
    """Type what a transformation moves, rotates or scales by, and confirm it."""
    window.type(text)
    time.sleep(0.25)
    keys(window, "Return")


F3 = "69"
"""The key itself: by its name, Alt comes with it."""


def search(window: Window, command: str) -> None:
    """Call a command by its name, with F3."""
    before = window.settled()
    window.key(F3)
    window.drawn(before, SCREEN, 3_000)
    window.type(command)
    window.settled()
    keys(window, "Return")
    window.settled()


SPIDER, RIG = "bpy.data.objects['Armature']", "bpy.data.objects['Rig']"


def click_bones(window: Window, *bones: str) -> None:
    """Click a bone of the spider, and the others with Shift."""
    for i, bone in enumerate(bones):
        window.move(seen(window, f"bone_middle({SPIDER}, {bone!r})"))
        time.sleep(0.2)
        with window.held("shift") if i else nullcontext():
            window.click()
        time.sleep(0.3)


def make_skeleton(window: Window) -> None:
    """Make a body and eight legs with keys alone, as the recipe of the spider says."""
    search(window, "Add Armature")
    window.until("len(bpy.data.objects) == 1")
    keys(window, "Tab", "a", "r", "x")
    number(window, "90")
    keys(window, "s")
    number(window, "0.4")
    keys(window, "g", "z")
    number(window, "-0.1")
    keys(window, "shift+a")
    window.until(f"len({SPIDER}.data.edit_bones) == 2")
    transform(window, "g", 0.4, 0, -0.35)
    window.click(seen(window, "(0, 0, 0)"))
    transform(window, "g", 0.15, 0, 0.4)
    window.click(seen(window, "(0.4, 0, 0.65)"))
    transform(window, "e", 0.3, 0, -0.15)
    transform(window, "e", 0.2, 0, -0.5)
    window.until(f"len({SPIDER}.data.edit_bones) == 4")


def transform(window: Window, key: str, *way: float) -> None:
    """Move or extrude what is selected by a vector."""
    time.sleep(0.3)
    keys(window, key)
    for i, part in enumerate(way):
        window.type(str(part))
        keys(window, "Return" if i == 2 else "Tab")


def copy_legs(window: Window) -> None:
    """Make eight legs of one, as the recipe of the spider says."""
    click_bones(window, "Bone.001", "Bone")
    search(window, "Make Parent")
    time.sleep(1.0)
    keys(window, "k")  # Keep Offset
    window.until(f"{SPIDER}.data.edit_bones['Bone.001'].parent is not None")
    click_bones(window, "Bone.001", "Bone.002", "Bone.003")
    window.key("period")
    time.sleep(1.0)
    keys(window, "6", "r", "z")  # 3D Cursor
    number(window, "-50")
    for _ in range(3):
        keys(window, "shift+d", "Escape", "r", "z")
        number(window, "33")
    keys(window, "a")
    search(window, "Auto-Name Left/Right")
    search(window, "Symmetrize")
    window.until(f"len({SPIDER}.data.edit_bones) == 25")
    keys(window, "Tab")


def spider(window: Window) -> Path:
    """Make a spider from an empty scene by mouse and keys, as the recipe says; let it walk."""
    stage(window, "clear()", "select")
    window.ask("look_at((0, 0, 0.3), 3.2, 35, 35)")
    left, top, width, height = window.ask("box()")
    window.move((left + 0.5 * width, top + 0.3 * height))
    window.settled()
    make_skeleton(window)
    copy_legs(window)
    still(window, "spider-skeleton.png")
    search(window, "Grid")
    window.until("len(bpy.data.objects) == 2")
    keys(window, "s")
    number(window, "6")
    window.click(seen(window, f"bone_middle({SPIDER}, 'Bone.003.L')"))
    keys(window, "ctrl+Tab", "n")
    window.until("bpy.context.mode == 'POSE' and open_tab()")
    window.ask("look_at((0, 0, 0.3), 6.0, 0, 89)")  # From above, no leg hides another.
    window.settled()
    click_bones(window, *(f"Bone.{i:03}.{side}" for side in "LR" for i in (3, 6, 9, 12)))
    window.choose(POSE_MENU, "Walk")
    window.until(f"len({SPIDER}.fabrik.gaits) == 1")
    click_bones(window, "Bone")
    keys(window, "i")
    window.ask("bpy.context.scene.frame_end = 100; go(100)")
    window.settled()
    keys(window, "g", "y", "y")
    number(window, "3")
    keys(window, "i")
    window.click(window.find("fabrik.simulate", is_wide=True))
    window.until(f"{SPIDER}.fabrik.simulation.state == 'FRESH' and modal() == ''")
    window.ask("look_at((0, -1.2, 0.3), 6.0, 50, 25)")
    window.ask(
        f"[setattr(one, 'hide', True) for one in {SPIDER}.pose.bones if one.bone.fabrik_is_control]"
    )
    film = Film(window)
    film.play(range(1, 101, 3))
    return film.save("spider-walk.gif", view_of(window))


IK_MENU = (440, 442)
"""Where Inverse Kinematics is in the menu Pose, with Rigify or without."""

MAIN_HEADER = (1260, 158)
"""Where the header of the panel FABRIK IK is in the sidebar."""

HEADERS = {"Root Motion": (1300, 264), "Character": (1293, 123)}
"""Where other panels are while that one is closed."""


def toggle(window: Window, *headers: Place) -> None:
    """Open or close panels, each of which moves those below it."""
    for header in headers:
        window.move(header)
        window.settled()  # A click before it lights up is lost.
        window.click()
        window.settled()


def open_menu(window: Window, place: Place) -> None:
    """Open Pose > Inverse Kinematics, and rest on one of its entries."""
    for click in (POSE_MENU, IK_MENU):
        before = window.settled()
        window.click(click)
        window.drawn(before, SCREEN, 10_000)
    before = window.settled()
    window.move(place)
    window.drawn(before, SCREEN, 300)


def first_menu(window: Window) -> Path:
    """Show the human of the first steps with a hand selected, and the menu."""
    stage(window, "prepare_film('metarig')", "select")
    window.ask("select(bpy.data.objects['metarig'], None, 'hand.L'); look_at((0, 0, 1), 3.4)")
    open_menu(window, (760, 500))
    return still(window, "first-menu.png")


def first_arm(window: Window) -> Path:
    """Add IK to the arm of that human in one step, and move its target and its pole."""
    stage(window, "prepare_film('metarig')")
    window.ask("select(bpy.data.objects['metarig'], None, 'hand.L'); look_at((0.3, 0, 1.1), 2.6)")
    window.settled()
    film = Film(window)
    film.take(4)
    window.move(seen(window, "(-0.6, 0, 1.1)"))
    window.key("ctrl+shift+i")
    window.until("len(bpy.data.objects['metarig'].fabrik.constraints) == 1")
    window.settled()
    film.take(6)
    x, y = seen(window, "bone_middle(bpy.context.object, bpy.context.active_pose_bone.name)")
    film.glide((x, y), steps=4)
    window.key("g")
    film.glide((x - 60, y - 190), (x - 140, y - 60), (x - 20, y - 100))
    window.click()
    film.take(6)
    return film.save("first-arm.gif", view_of(window))


def character(window: Window) -> Path:
    """Set up a run that is keyed on the bones, and move the target of a foot."""
    stage(window, "prepare_film('captured')", sample="stairs")
    window.ask("look_at((-2.0, 0, 0.9), 4.2, 20, 8)")
    window.settled()
    film = Film(window)
    film.take(2)
    toggle(window, HEADERS["Character"])
    film.take(3)
    for button, done in (
        ("fabrik.character_recognize", "len({}.fabrik.character.parts) > 2"),
        ("fabrik.character_set_up", "len({}.fabrik.constraints) > 2 and modal() == ''"),
    ):
        film.glide(window.find(button, is_wide=True), steps=4)
        window.click()
        window.until(done.format("bpy.data.objects['Rig']"))
        window.settled()
        film.take(4)
    window.ask(f"select({RIG}, None, 'Foot IK.L')")
    x, y = seen(window, f"bone_middle({RIG}, 'Foot IK.L')")
    film.glide((x, y), steps=4)
    window.key("g")
    film.glide((x - 60, y - 120), (x + 60, y - 20))
    window.click()
    film.take(6)
    toggle(window, HEADERS["Character"])
    return film.save("character.gif", view_of(window))


def open_section(window: Window, film: Film, setting: str) -> None:
    """Enable a section by the checkbox in its header."""
    left, top, _, height = window.ask("box('UI')")
    across = left + 48 * window.ask("bpy.context.preferences.system.ui_scale")
    rows = window.rows(across, top + height // 2, top + height - 4)
    _, high, low = next(row for row in rows if row[0].endswith(setting))
    film.glide((across, (high + low) / 2), steps=4)
    window.click()
    window.until(rows[0][0].partition(".constraints[0]")[0] + f".constraints[0].{setting}")
    window.settled()
    film.take(4)


def pull(window: Window, film: Film, name: str, *ways: Place, steps: int = 8) -> None:
    """Select an object, and move it with G along a way, given from where it is in pixels."""
    window.ask(f"take({name!r})")
    x, y = seen(window, f"bpy.data.objects[{name!r}].matrix_world.translation")
    film.glide((x, y), steps=4)
    window.settled()
    film.take(2)
    window.key("g")
    film.glide(*((x + across, y + down) for across, down in ways), steps=steps)
    window.click()
    window.settled()
    film.take(4)


def bake(window: Window) -> Path:
    """Show the dialog of Bake; without its target the arm then plays the keys of its bones."""
    stage(window, "prepare_film('sample')", "timeline")
    film = Film(window)
    film.play(range(1, 15, 3))
    window.choose(POSE_MENU, "Bake FABRIK IK")
    window.settled()
    film.take(8)
    still(window, "bake.png")
    before = window.settled()
    window.key("Return")
    window.drawn(before, SCREEN, 10_000)
    window.until("modal() == '' and keyed_bones('Figure') == ['Forearm', 'Upper Arm']")
    window.ask("bpy.data.objects['Target'].hide_set(True)")
    window.settled()
    film.take(4)
    film.play(range(1, 41, 3))
    return film.save("bake.gif", WHOLE)


def below_the_top(window: Window) -> Box:
    """Return the part of the screen with the 3D view and the timeline."""
    left, top, *_ = window.ask("box()")
    return (left, top, WIDTH - left, HEIGHT - top - 30)


WHOLE = (0, 28, WIDTH, HEIGHT - 28)
"""All editors, and the dialogs over them."""


def paths(window: Window) -> Path:
    """Show the motion path of a hand that follows a solved arm."""
    stage(window, "prepare_film('sample')")
    window.ask("select(bpy.data.objects['Figure'], None, 'Hand')")
    film = Film(window)
    window.settled()
    film.take(4)
    window.choose(POSE_MENU, "Calculate with FABRIK IK")
    before = window.settled()
    film.take(6)
    window.key("Return")
    window.drawn(before, SCREEN, 10_000)
    window.until("bpy.data.objects['Figure'].pose.bones['Hand'].motion_path is not None")
    film.take(4)
    film.play(range(1, 41, 2))
    return film.save("motion-paths.gif", WHOLE)


def presets(window: Window) -> Path:
    """Show the presets of a constraint."""
    stage(window, "prepare('pole')")
    before = window.settled()
    window.click((1511, 123))
    window.drawn(before, SCREEN, 3_000)
    return still(window, "presets.png")


SPECIALS = (1537, 225)
"""The menu beside the list of constraints."""


def mirror(window: Window) -> Path:
    """Mirror the constraint of an arm, and move the target of the other."""
    stage(window, "prepare_film('mirror')", sample="puppet")
    window.ask("look_at((0, 0, 1.1), 4.0, 0, 5)")
    window.settled()
    film = Film(window)
    film.take(4)
    film.glide(SPECIALS, steps=4)
    before = window.settled()
    window.click()
    window.drawn(before, SCREEN, 5_000)
    film.take(4)
    window.key("space")
    window.type("Mirror to Other Side")
    window.settled()
    film.take(4)
    window.key("Return")
    window.until("len(bpy.data.objects['Rig'].fabrik.constraints) == 2")
    window.settled()
    film.take(6)
    pull(window, film, "Hand target.R", (60, -140), (-60, 60), (0, 0))
    return film.save("mirror.gif", view_of(window))


def convert(window: Window) -> Path:
    """Convert Blender's constraint: the arm stays, and the panel has the new one."""
    stage(window, "prepare('select'); have_blenders_ik()")
    window.ask("look_at((0.54, 0, 1.36), 2.2)")
    window.settled()
    film = Film(window)
    film.take(4)
    open_menu(window, (760, 611))
    window.settled()
    film.take(6)
    window.click()
    window.until("len(bpy.data.objects['Figure'].fabrik.constraints) == 1")
    window.settled()
    film.take(8)
    pull(window, film, "Target", (-60, 160), (140, 30), (0, 0), steps=6)
    return film.save("convert.gif", view_of(window))


def bodies(window: Window) -> Path:
    """Pull a hand of a wooden figure: its whole body comes along, and its feet stay."""
    stage(window, "prepare_film('body')", sample="humanoid")
    window.ask("look_at((0.1, 0, 1.05), 4.4, 15, 8)")
    window.settled()
    film = Film(window)
    film.take(2)
    pull(window, film, "Hand target.L", (170, 60), (120, 240), (-40, -60))
    pull(window, film, "Head target", (-120, 60), (0, 0), steps=6)
    return film.save("bodies.gif", view_of(window))


def whole_body(window: Window) -> Path:
    """Pin the feet of the wooden figure with P, then drag a hand and the pelvis."""
    stage(window, "prepare_film('body')", sample="humanoid")
    rig = "bpy.data.objects['Rig']"
    window.ask(f"[setattr(item, 'enabled', False) for item in {rig}.fabrik.constraints]")
    controls = f"{{ob for i in {rig}.fabrik.constraints for ob in (i.target, i.pole_target) if ob}}"
    window.ask(f"[ob.hide_set(True) for ob in bpy.data.objects if {{ob, ob.parent}} & {controls}]")
    window.ask(f"bpy.context.view_layer.objects.active = {rig}")
    window.ask("bpy.ops.object.mode_set(mode='POSE')")
    window.ask("look_at((0.1, 0, 1.0), 4.4, 15, 8); take_tool('fabrik.drag')")
    window.settled()
    film = Film(window)
    for foot in ("Foot.L", "Foot.R"):
        window.move(seen(window, f"middle('Rig', {foot!r})"))
        window.key("p")
        window.key("p")
        window.settled()
        film.take(4)
    for bone, ways in (
        ("Hand.L", ((70, -160), (90, 20))),
        ("Pelvis", ((-30, 20), (0, 45))),
        ("Hand.R", ((-50, -130),)),
    ):
        x, y = seen(window, f"middle('Rig', {bone!r})")
        window.move((x, y))
        window.settled()
        film.take(3)
        window.press()
        film.glide(*((x + across, y + down) for across, down in ways))
        window.release()
        film.take(5)
    return film.save("whole-body.gif", view_of(window))


def joints(window: Window) -> Path:
    """Limit an elbow: it turns red where it may not bend any farther."""
    stage(window, "prepare_film('joint')")
    film = Film(window)
    film.take(4)
    pull(window, film, "Target", (-330, 210), (60, -40), (160, 40), steps=10)
    return film.save("joints.gif", view_of(window))


def overlay(window: Window) -> Path:
    """Move a target into the shell of what an arm can reach, and out of it."""
    stage(window, "prepare('pole')")
    window.ask("look_at((0.54, 0, 1.36), 2.4)")
    window.settled()
    film = Film(window)
    film.take(4)
    pull(window, film, "Target", (90, -170), (-330, 120), (0, 0), steps=10)
    film.glide(window.find("fabrik.show_overlay"), steps=4)
    for _ in range(2):
        window.click()
        window.settled()
        film.take(5)
    return film.save("overlay.gif", view_of(window))


def root_motion(window: Window) -> Path:
    """Give a run on the spot its travel."""
    stage(window, "prepare_film('captured')", sample="stairs")
    window.ask("bpy.ops.fabrik.root_motion_extract(onto='NONE'); go(1)")
    window.ask("look_at((-2.0, 0, 0.9), 5.0, 20, 8)")
    window.settled()
    film = Film(window)
    toggle(window, MAIN_HEADER, HEADERS["Root Motion"])
    film.play(range(1, 60, 6))
    film.glide(window.find("fabrik.root_motion_add", is_wide=True), steps=4)
    window.click()
    window.settled()
    film.take(6)
    film.play(range(1, 60, 6))
    path = film.save("root-motion.gif", view_of(window))
    toggle(window, HEADERS["Root Motion"], MAIN_HEADER)
    return path


def simulation(window: Window) -> Path:
    """Simulate four legs that walk, and play them."""
    stage(window, "prepare_legs()", "timeline")
    window.ask("bpy.ops.fabrik.gait_add(); look_at((0, -0.6, 0.2), 4.2, 50, 25)")
    window.settled()
    film = Film(window)
    film.play((1, 8, 16, 24, 1))
    film.glide(window.find("fabrik.simulate", is_wide=True), steps=4)
    film.take(4)
    window.click()
    window.until("bpy.data.objects['Walker'].fabrik.simulation.state == 'FRESH' and modal() == ''")
    window.settled()
    film.take(6)
    film.play(range(1, 41, 2))
    return film.save("simulation.gif", below_the_top(window))


def spring(window: Window) -> Path:
    """Drag Stiffness and Drag of a ponytail: it answers, and the rest is simulated again."""
    stage(window, "prepare_hair(); bpy.ops.fabrik.simulate()", "timeline", "ponytail")
    window.ask("look_at(list(middle('Rig', 'Hair 3')), 1.5, 20, 8)")
    window.settled()
    film = Film(window)
    film.take(4)
    for name, way in (("stiffness", 120), ("drag", 60)):
        x, y = window.find(f"spring.{name}", is_wide=True)
        film.glide((x, y), steps=4)
        window.press()
        film.glide((x + way, y), (x - 20, y), (x + way / 3, y), steps=5)
        window.release()
        film.take(3)
    window.until("bpy.data.objects['Rig'].fabrik.simulation.state == 'FRESH' and modal() == ''")
    window.settled()
    film.take(3)
    return film.save("spring.gif", below_the_top(window))


def stretch(window: Window) -> Path:
    """Enable Stretch: an arm gets longer to reach its target."""
    stage(window, "prepare('panel')")
    window.ask("look_at((0.54, 0, 1.36), 2.4)")
    window.settled()
    film = Film(window)
    film.take(2)
    pull(window, film, "Target", (150, -230), steps=6)
    open_section(window, film, "use_stretch")
    pull(window, film, "Target", (-60, 180), (20, 20))
    return film.save("stretch.gif", view_of(window))


def tips(window: Window) -> Path:
    """Turn a hand with its target."""
    stage(window, "prepare_film('hand')")
    film = Film(window)
    film.take(2)
    open_section(window, film, "use_rotation")
    window.ask("take('Target')")
    x, y = seen(window, "bpy.data.objects['Target'].location")
    film.glide((x + 160, y), steps=4)
    window.key("r")
    film.glide((x + 60, y + 160), (x + 60, y - 160), (x + 160, y))
    window.click()
    film.take(4)
    pull(window, film, "Target", (-120, 120), (0, 0))
    return film.save("tips.gif", view_of(window))


def foot_roll(window: Window) -> Path:
    """Roll a foot from the heel to the tip of its toes, and bank it."""
    stage(window, "prepare_film('roll')", sample="hills")
    window.ask(f"look_at(bone_middle({RIG}, 'Foot.L'), 0.9, 10, 6)")
    window.settled()
    x, y = seen(window, f"bone_middle({RIG}, 'Foot.L')")
    film = Film(window)
    for axis, turn, ways in (
        ("x", 10, ((0, -330), (0, 70), (0, 0))),
        ("y", 80, ((0, 60), (0, -60), (0, 0))),
    ):
        window.ask(f"look_at(bone_middle({RIG}, 'Foot.L'), 0.9, {turn}, 6)")
        window.move((x - 250, y))
        window.settled()
        film.take(3)
        keys(window, "r", axis, axis)
        film.glide(*((x - 250 + across, y + down) for across, down in ways))
        keys(window, "Escape")
    film.take(4)
    return film.save("foot-roll.gif", view_of(window))


def controls(window: Window) -> Path:
    """Set up a character and move a foot by its bone, then the hips, then the root."""
    stage(window, "prepare_film('controls')", sample="hills")
    window.ask("look_at((0, 0, 0.85), 2.6, 60, 8)")
    window.settled()
    film = Film(window)
    for bone, ways in (
        ("Foot.L", ((80, -190), (150, -60), (70, -40))),
        ("Pelvis", ((0, 60), (-40, 30), (0, 20))),
        ("Root", ((-160, 0), (120, 10), (0, 0))),
    ):
        window.ask(f"select({RIG}, None, {bone!r})")
        x, y = seen(window, f"bone_middle({RIG}, {bone!r})")
        window.move((x, y))
        window.settled()
        film.take(4)
        keys(window, "g")
        film.glide(*((x + across, y + down) for across, down in ways))
        window.click()
        film.take(4)
    return film.save("controls.gif", view_of(window))


# Once a sample was opened, Blender keeps its editors: those with the timeline come first.
FILMS: dict[str, Callable[[Window], Path]] = {
    "spider": spider,  # Before Rigify adds to what a search finds.
    "bake": bake,
    "simulation": simulation,
    "reach": reach,
    "drag": drag,
    "switch": switch,
    "snake": snake,
    "first-menu": first_menu,
    "first-arm": first_arm,
    "character": character,
    "paths": paths,
    "presets": presets,
    "mirror": mirror,
    "convert": convert,
    "root-motion": root_motion,
    "bodies": bodies,
    "whole-body": whole_body,
    "joints": joints,
    "controls": controls,
    "foot-roll": foot_roll,
    "overlay": overlay,
    "spring": spring,
    "stretch": stretch,
    "tips": tips,
}


def main() -> None:
    """Make all, or those named."""
    with opened() as window:
        for name in sys.argv[1:] or FILMS:
            path = FILMS[name](window)
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size // 1000} kB", flush=True)
            assert path.stat().st_size < LARGEST, f"{path} is larger than {LARGEST} bytes"


if __name__ == "__main__":
    main()
