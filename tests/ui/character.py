"""A character as it is downloaded, on the stage."""

from window import Picture, Place, Window

RIG = "bpy.data.objects['Downloaded']"
COUNT = f"len({RIG}.fabrik.constraints)"
HAND = "mixamorig:LeftHand"
CONTROL, POLE = "LeftHand IK", "LeftHand Pole"
SELECTED = "[bone.name for bone in bpy.context.selected_pose_bones or ()]"


def have_character(window: Window) -> Picture:
    """Set a downloaded character on the stage, in Pose Mode with nothing selected."""
    window.ask("prepare_downloaded()")
    window.ask(f"face_hand({HAND!r})")
    window.ask("remember('stage')")
    return window.settled()


def hand_at(window: Window) -> Place:
    return window.ask(f"list(seen(middle('Downloaded', {HAND!r})))")
