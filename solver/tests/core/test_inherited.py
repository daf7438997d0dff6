"""What a bone inherits changes nothing about what its chain reaches, nor about its joints."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product

import limited
import pytest
from bodies import TORSO, tree_of
from strategies import SCALE_MODES, random_direction, random_turn

from fabrik_solver import (
    WHOLE,
    Bone,
    ChainInput,
    Cone,
    Frame,
    Goal,
    Hinge,
    Limit,
    Local,
    Pull,
    Stretch,
    Tip,
    chain_frames,
    point_in,
    pose_body,
    pose_chain,
)
from fabrik_solver.core import vectors

KINDS = ("hinge", "cone")


def rests(bones: Sequence[Bone], off: set[int], mode: str = "FULL") -> list[Bone]:
    """Bones of which some do not inherit rotation."""
    found: list[Bone] = []
    above = vectors.IDENTITY
    for i, bone in enumerate(bones):
        found.append(
            replace(bone, parent_rest=above, inherit_rotation=i not in off, inherit_scale=mode)
        )
        above = vectors.mat_product(above, bone.rest)
    return found


def subsets(bones: int) -> list[set[int]]:
    """Each bone, all, and all but the root bone."""
    return [*[{i} for i in range(bones)], set(range(bones)), set(range(1, bones))]


class Case:
    """A limb with a free root joint, and a target that its limits let it reach."""

    def __init__(self, rng: random.Random, bones: int, kind: str, parent: Frame = WHOLE) -> None:
        self.rig, self.locals = limited.straight_rig(rng, bones)
        self.limits: list[Limit | None] = [
            None,
            *(limited.random_limit(rng, kind) for _ in range(bones - 1)),
        ]
        self.parent = parent
        self.turns = [
            limited.random_inside(rng, limit) if limit else random_turn(rng, 1.5)
            for limit in self.limits
        ]
        self.target = limited.tip_at(self.chain(set()), self.turns)
        self.pole: vectors.Vec = vectors.scaled(random_direction(rng), 3.0)

    def chain(
        self, off: set[int], mode: str = "FULL", stiffness: Sequence[float] = ()
    ) -> ChainInput:
        bones = rests(self.rig, off, mode)
        tip = (0.0, bones[-1].length, 0.0)
        return ChainInput(bones, self.locals, tip, self.parent, None, self.limits, stiffness)

    def most_broken(self, chain: ChainInput, rotations: Sequence[vectors.Quat]) -> float:
        turns = limited.joint_turns(chain, rotations)
        pairs = zip(self.limits, turns, strict=True)
        return max(limited.broken(limit, turn) for limit, turn in pairs if limit is not None)


PARENT: Frame = (vectors.quat_matrix((math.sqrt(0.5), 0.3, 0.5, math.sqrt(0.16))), (0.2, -0.1, 0.4))


@pytest.mark.parametrize(
    ("solver", "bones"), [("TWO_BONE", 2), ("FABRIK", 2), ("CCD", 2), ("FABRIK", 3), ("CCD", 4)]
)
def test_limits_and_a_pole_let_it_reach_what_it_reaches_if_all_is_inherited(
    solver: str, bones: int, figure: Callable[[str, str], None]
) -> None:
    rng = random.Random(f"{solver}{bones}")
    count, worst, most = 0, 0.0, 0.0
    for kind, has_pole, parent in product(KINDS, (True, False), (WHOLE, PARENT)):
        for _ in range(3):
            case = Case(rng, bones, kind, parent)
            goal = Goal(case.target, case.pole if has_pole else None)
            if pose_chain(case.chain(set()), goal, solver).state != "REACHED":
                continue
            for off in subsets(bones):
                chain = case.chain(off)
                posture = pose_chain(chain, goal, solver)
                away = math.dist(limited.tip_at(chain, list(posture.rotations)), case.target)
                assert posture.state == "REACHED", (kind, has_pole, off, away)
                count += 1
                worst = max(worst, away)
                most = max(most, case.most_broken(chain, posture.rotations))
    figure(f"{solver}, {bones} bones: missed where others inherit", f"{worst:.0e} of {count}")
    assert count > 40 and worst <= 1e-4 and most <= limited.BROKEN


def _missed(chain: ChainInput, rotations: Sequence[vectors.Quat], target: vectors.Vec) -> float:
    return math.dist(limited.tip_at(chain, list(rotations)), target)


@pytest.mark.parametrize("mode", SCALE_MODES)
def test_with_every_inherit_scale_as_well(mode: str) -> None:
    rng = random.Random(mode)
    for _ in range(4):
        case = Case(rng, 3, "hinge", PARENT)
        case.locals = [Local(scale=(s, s, s)) for s in (1.3, 0.8, 1.1)]
        case.target = limited.tip_at(case.chain(set(), mode), case.turns)
        goal = Goal(case.target, case.pole)
        if pose_chain(case.chain(set(), mode), goal).state == "REACHED":
            for off in subsets(3):
                posture = pose_chain(case.chain(off, mode), goal)
                assert posture.state == "REACHED"
                assert case.most_broken(case.chain(off, mode), posture.rotations) <= limited.BROKEN


def test_from_a_start_and_with_stiff_bones() -> None:
    rng = random.Random(2)
    for off in subsets(3):
        case = Case(rng, 3, "cone")
        goal = Goal(case.target)
        chain = case.chain(off)
        near = Goal(vectors.scaled(case.target, 0.999))
        start = pose_chain(chain, near).rotations
        posture = pose_chain(chain, goal, start=start)
        assert posture.state == "REACHED"
        assert case.most_broken(chain, posture.rotations) <= limited.BROKEN
        stiff = case.chain(off, stiffness=(0.0, 0.4, 0.2))
        assert _missed(stiff, pose_chain(stiff, goal).rotations, case.target) <= 1e-3


def test_a_fully_stiff_bone_keeps_its_channels() -> None:
    rng = random.Random(3)
    for off in ({1}, {2}, {1, 2}):
        case = Case(rng, 3, "cone")
        case.locals = [Local(rotation=random_turn(rng, 0.2)) for _ in range(3)]
        case.limits[1] = None
        chain = case.chain(off, stiffness=(0.0, 1.0, 0.0))
        goal = Goal(vectors.scaled(random_direction(rng), 0.6), case.pole)
        posture = pose_chain(chain, goal)
        assert vectors.quat_angle(posture.rotations[1], case.locals[1].rotation) < 1e-6
        assert _missed(chain, posture.rotations, posture.tip) < 1e-9
        assert (posture.state == "REACHED") == (math.dist(posture.tip, goal.target) <= 1e-4)


def test_a_hand_keeps_its_limit_and_reaches() -> None:
    rng = random.Random(4)
    wide = Cone((-1.2, 1.2), (-1.2, 1.2), (-1.0, 1.0))
    for off in ({2}, {1}, {1, 2}, {0, 1, 2}):
        case = Case(rng, 3, "hinge")
        case.limits[2] = wide
        bones = rests(case.rig, off)
        tail = (0.0, bones[-1].length, 0.0)
        chain = ChainInput(bones, case.locals, tail, WHOLE, None, case.limits, (), True)
        twin = ChainInput(
            rests(case.rig, set()), case.locals, tail, WHOLE, None, case.limits, (), True
        )
        turned = chain_frames(twin, case.turns)[-1][0]
        posture = pose_chain(chain, Goal(case.target, case.pole), tip=Tip(turned))
        if pose_chain(twin, Goal(case.target, case.pole), tip=Tip(turned)).state == "REACHED":
            assert posture.state == "REACHED"
        assert case.most_broken(chain, posture.rotations) <= limited.BROKEN


def test_stretched_chains_reach() -> None:
    rng = random.Random(5)
    for off in subsets(3):
        case = Case(rng, 3, "hinge")
        case.limits = [
            None,
            Hinge((1.0, 0.0, 0.0), (-2.6, 0.2)),
            Hinge((1.0, 0.0, 0.0), (-2.6, 0.2)),
        ]
        goal = Goal((0.3, 0.6, 0.9), case.pole)
        assert pose_chain(case.chain(set()), goal, stretch=Stretch(2.0, False)).state == "REACHED"
        assert pose_chain(case.chain(off), goal, stretch=Stretch(2.0, False)).state == "REACHED"


def test_trees_reach_with_limits_on_all_bones(figure: Callable[[str, str], None]) -> None:
    rng = random.Random(6)
    shape = tree_of(TORSO, "Lower.L", "Lower.R")
    names = shape.names
    count = worst = 0.0
    for off in (
        ["Lower.L"],
        ["Upper.L", "Lower.R"],
        ["S2"],
        ["Clavicle.L", "Clavicle.R"],
        [*names],
    ):
        for _ in range(3):
            limits: list[Limit | None] = [limited.random_limit(rng, "cone") for _ in shape.bones]
            turns = [limited.random_inside(rng, limit) if limit else None for limit in limits]
            twin = shape.body(limits=limits)
            posed = twin.fk()
            posed.rotations = [turn or (1.0, 0.0, 0.0, 0.0) for turn in turns]
            frames = twin.frames(posed)
            targets = [point_in(frames[m.bones[-1]], m.tip) for m in shape.members]
            pulls = [Pull(Goal(target), "FABRIK", 20, 1e-4, 1.0, 1.0) for target in targets]
            reached = [o and o.state for o in pose_body(twin, pulls).outcomes]
            if reached != ["REACHED", "REACHED"]:
                continue
            bones = [
                replace(b, inherit_rotation=n not in off)
                for n, b in zip(names, shape.bones, strict=True)
            ]
            other = shape._replace(bones=bones).body(limits=limits)
            posture = pose_body(other, pulls)
            frames = other.frames(posture)
            for member, target in zip(shape.members, targets, strict=True):
                worst = max(
                    worst, math.dist(point_in(frames[member.bones[-1]], member.tip), target)
                )
            assert [o and o.state for o in posture.outcomes] == reached, off
            count += 1
    figure("trees: missed where others inherit", f"{worst:.0e} of {count:.0f}")
    assert count > 8 and worst <= 2e-4
