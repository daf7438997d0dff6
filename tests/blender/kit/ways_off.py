"""All ways to disable or break a constraint."""

import bpy


def influence_0(rig):
    rig.fabrik.constraints[0].influence = 0.0


def disabled(rig):
    rig.fabrik.constraints[0].enabled = False


def removed(rig):
    rig.fabrik.constraints.remove(0)
    rig.update_tag()


def cleared(rig):
    rig.fabrik.constraints.clear()
    rig.update_tag()


def no_target(rig):
    rig.fabrik.constraints[0].target = None


def wrong_bone(rig):
    rig.fabrik.constraints[0].bone = "Nowhere"


def target_deleted(rig):
    bpy.data.objects.remove(rig.fabrik.constraints[0].target)


WAYS_OFF = (influence_0, disabled, removed, cleared, no_target, wrong_bone, target_deleted)
