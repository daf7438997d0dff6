"""Feet that roll on their soles by one control."""

from __future__ import annotations

from math import radians
from typing import Any

import pytest
from humans import make_human
from mathutils import Matrix, Vector
from operating import add_limbs
from rigs import evaluated, update

pytestmark = pytest.mark.usefixtures("empty_file")


def shown(rig: Any, bone: str) -> Matrix:
    """Return the evaluated matrix of a bone in world space."""
    copy = evaluated(rig)
    return copy.matrix_world @ copy.pose.bones[bone].matrix


def test_first():
    rig = make_human(keyed=False)
    before = {b.name: shown(rig, b.name) for b in rig.pose.bones}
    add_limbs(rig, "foot.L")
    update()
    print([b.name for b in rig.pose.bones], rig.fabrik.constraints[0].roll.control)
    after = {n: shown(rig, n) for n in before}
    print(max((before[n].translation - after[n].translation).length for n in before))
    print(max(max((before[n].col[i] - after[n].col[i]).length for i in range(3)) for n in before))
    roll = rig.fabrik.constraints[0].roll
    con = rig.fabrik.constraints[0]
    c = rig.pose.bones[roll.control]
    for angle in (-40, -20, 0, 20, 44, 46, 80):
        c.rotation_euler.x = radians(angle)
        update()
        print(
            angle,
            con.state,
            con.message,
            shown(rig, "foot.L").translation,
            shown(rig, roll.toe).translation if roll.toe else "",
            shown(rig, roll.toe) @ Vector((0, rig.pose.bones[roll.toe].length, 0))
            if roll.toe
            else "",
        )
