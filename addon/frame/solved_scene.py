"""Poses of armatures and transforms of bones and objects, during a solve.

If something follows a solved chain, its transforms in Blender still show the previous pose. Before
an evaluation, all edited or animated transforms are outdated as well. They are therefore computed
here from local channels. The result doesn't depend on the previous pose, not even in its rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

import bpy

from fabrik_solver import WHOLE, Frame, Local, bone_frame, frame_in, inverse, point_in
from fabrik_solver.core.constrained_pose import ConstrainedPose
from fabrik_solver.core.constraints import (
    Constraint,
    ConstraintSpaces,
    along_bone,
    influenced,
)
from fabrik_solver.core.deformation import Armature, PosedBone
from fabrik_solver.core.vectors import (
    ORIGIN,
    Quat,
    Vec,
    mat_determinant,
    scaled,
    sum_of,
)
from fabrik_solver.motion.ground import Pose

from ..blender.access import frame_rate, rest_bone
from ..blender.references import shape_parent
from ..blender.rotation import SPARSE, IndexRange, Rows, channel_of, quaternion
from ..blender.skeleton import Point, Skeleton, matrix_frame, skeleton_of
from ..plan.chain_plan import ChainPlan, Report, Tie, UnitPlan
from ..plan.plan import Plan
from ..plan.results import SolveResult
from ..settings.properties import AnimatedSettings, FabrikConstraint
from .armature import Evaluated, FkPose
from .following import Followers, Step, follower_of
from .read import SceneSnapshot


class SolvedPose:
    """The FK pose of an armature and the results solved so far.

    Attributes:
        fk: The FK pose.
        now: The evaluated armature.
        results: The results, in solving order.
        reports: The reports of each unit, by the indices of its constraints.
        locations: Solved local locations, by bone.
        scales: Solved local scales, by bone.
        lifts: For the first bone of each body, how far results move it, in world space.
    """

    __slots__ = (
        "_indexed",
        "_posed_by",
        "fk",
        "lifts",
        "locations",
        "now",
        "reports",
        "results",
        "scales",
    )

    def __init__(self, fk: FkPose, evaluated: Evaluated) -> None:
        """Start from the FK pose."""
        self.fk = fk
        self.now = evaluated
        self.results: list[SolveResult] = []
        self.reports: dict[tuple[int, ...], tuple[Report, ...]] = {}
        self.locations: dict[int, Vec] = {}
        self.scales: dict[int, Vec] = {}
        self.lifts: dict[int, Pose] = {}
        self._posed_by: dict[int, SolveResult] = {}
        self._indexed = 0

    def add(self, result: SolveResult) -> None:
        """Add a result.

        Its scales and locations are in planned slots. Blender ignores a connected bone's location.
        """
        self.results.append(result)
        if result.scales:
            self.scales.update(result.scales)
        if result.locations:
            self.locations.update(result.locations)
        if result.lift is not None:
            self.lifts[result.bones[0]] = result.lift

    def rotation(self, bone: int) -> Quat | None:
        """Return the solved local rotation of a bone; None if it isn't solved yet."""
        while self._indexed < len(self.results):
            posed = self.results[self._indexed]
            self._posed_by.update(dict.fromkeys(posed.bones, posed))
            self._indexed += 1
        result = self._posed_by.get(bone)
        if result is None:
            return None
        bones = result.bones
        i = bone - bones[0]  # The bones of a chain are usually consecutive.
        if not 0 <= i < len(bones) or bones[i] != bone:
            i = bones.index(bone)
        w, x, y, z = result.rotations[4 * i : 4 * i + 4]
        return (w, x, y, z)

    @property
    def settings(self) -> Sequence[AnimatedSettings]:
        """The settings of the constraints, in list order."""
        return self.fk.settings

    def fk_bits(self, ranges: Sequence[IndexRange]) -> tuple[object, ...]:
        """Return the FK pose of some bones, as bytes."""
        cache, key = self.fk.known_bits, tuple(ranges)
        bits = None if cache is None else cache.get(key)
        if bits is None:
            bits = self.fk.bits_of(ranges, -1)
            if cache is not None:
                cache[key] = bits
        return bits

    def beneath(self, bones: Sequence[int]) -> tuple[object, ...]:
        """Return the solved channels of some bones, as the start of a layer."""
        rotation, locations, scales = self.rotation, self.locations, self.scales
        return tuple([(rotation(b), locations.get(b), scales.get(b)) for b in bones])

    def owner(self, bone: int) -> Any:
        """Return the copy of a bone that has the settings of its constraints."""
        return self.fk.rows.find(self.now.set_bones, bone)

    def local(self, bone: int) -> Local:
        """Return the evaluated local channels of a bone that chains don't pose."""
        fk, channels = self.fk, self.now.channels
        if bone in fk.rows.chosen or not fk.rows.are_few:
            mode = channels.mode(bone)
            rotation = quaternion(mode, channels.numbers(bone, *channel_of(mode)))
            return fk.local(bone, rotation)
        mode, values, (x, y, z), (sx, sy, sz) = channels.transform(bone)
        place = ORIGIN if bone in fk.rig.connected else (x, y, z)
        return Local(place, quaternion(mode, values), (sx, sy, sz))

    def locals_of(self, bones: Sequence[int]) -> list[Local]:
        """Return `local` of many bones, all read at once unless they are only a few."""
        fk, channels = self.fk, self.now.channels
        locations, scales, connected = fk.locations, fk.scales, fk.rig.connected
        if fk.rows.are_few:
            if len(bones) * SPARSE < len(fk.rig.names):
                return [*map(self.local, bones)]
            channels = channels.every
            locations, scales = channels.buffer("location", 3), channels.buffer("scale", 3)
        found: list[Local] = []
        for bone, rotation in zip(bones, channels.rotations(bones), strict=True):
            x, y, z = locations[bone * 3 : bone * 3 + 3]
            sx, sy, sz = scales[bone * 3 : bone * 3 + 3]
            found.append(Local(ORIGIN if bone in connected else (x, y, z), rotation, (sx, sy, sz)))
        return found

    def fk_local(self, bone: int) -> Local:
        """Return the FK pose of a bone that a unit poses, as local channels."""
        return self.fk.posed(bone)

    def posed_local(self, bone: int) -> Local:
        """Return the local channels of a bone that a chain poses, as solved so far."""
        local = self.fk.posed(bone)
        rotation = self.rotation(bone)
        location, scale = self.locations.get(bone), self.scales.get(bone)
        if rotation is None and location is None and scale is None:
            return local
        if location is None or bone in self.fk.rig.connected:
            location = local.location
        return Local(location, rotation or local.rotation, scale or local.scale)


T = TypeVar("T")


class SolvedScene:
    """A snapshot with the results solved so far.

    Only `solving.Runs` changes it. All other code reads it, during the solve and as its result.

    Attributes:
        snapshot: The snapshot.
        plan: The plan.
        rigs: The evaluated armatures being solved.
        time: The scene's frame.
        is_edit: Whether this is the viewport after an edit, and not after a change of frame.
        poses: The armatures, as posed so far.
        worlds: Cached world-space frames of objects.
        frames: Cached frames of bones in armature space, by armature.
        failed: Armatures and chains with unexpected errors.
    """

    def __init__(self, snapshot: SceneSnapshot, is_edit: bool = False) -> None:
        """Start from the FK pose of all armatures."""
        self.snapshot = snapshot
        self.is_edit = is_edit
        self.plan: Plan = snapshot.plan
        self.rigs: Mapping[int, bpy.types.Object] = snapshot.rigs
        self.time = snapshot.time
        self.poses = {
            uid: SolvedPose(fk, snapshot.evaluated[uid]) for uid, fk in snapshot.poses.items()
        }
        self.worlds: dict[int, Frame] = {}
        self._frame_rate: float | None = None
        self.frames: dict[int, dict[int, Frame]] = {}
        self.failed: Collection[object] = snapshot.failed

    @property
    def scene(self) -> bpy.types.Scene:
        """The scene, for reading its settings."""
        return self.snapshot.scene

    @property
    def frame_rate(self) -> float:
        """The frame rate of the scene, in frames per second."""
        if self._frame_rate is None:
            self._frame_rate = frame_rate(self.scene)
        return self._frame_rate

    @property
    def depsgraph(self) -> bpy.types.Depsgraph:
        """The depsgraph to read."""
        return self.snapshot.depsgraph

    def add(self, unit: UnitPlan, result: SolveResult) -> None:
        """Add a result, and invalidate the transforms that depend on it."""
        pose = self.poses[unit.rig.uid]
        pose.reports[unit.items] = result.reports
        if result.bones:
            pose.add(result)
        # Saves a call per unit and frame.
        bones, objects = self.plan.moves.get(unit) or self.plan.moved_by(unit)
        if self.frames:
            for uid in bones.keys() & self.frames.keys():
                frames = self.frames[uid]
                for bone in bones[uid] & frames.keys():
                    del frames[bone]
        for uid in objects:
            self.worlds.pop(uid, None)

    def with_pose(self, pose: SolvedPose) -> SolvedScene:
        """Return a copy in which one armature has another pose."""
        other = SolvedScene(self.snapshot)
        other.poses = {**self.poses, pose.fk.rig.uid: pose}
        other.failed = self.failed
        return other

    def item(self, chain: ChainPlan) -> FabrikConstraint:
        """Return an evaluated constraint."""
        return self.snapshot.item(chain)

    def cached(self, chain: ChainPlan, make: Callable[[FabrikConstraint], T]) -> T:
        """Return the result of `SceneSnapshot.cached`."""
        return self.snapshot.cached(chain, make)

    def point(self, point: Point) -> Vec:
        """Return the location of a target or pole in world space."""
        if point.skeleton is None:
            location = self.snapshot.location(point.object, point.uid)
            return self.world(point.object, point.uid)[1] if location is None else location
        world = self.world(point.object, point.uid)
        return point_in(world, self.frame(point.skeleton, point.bone)[1])

    def place(self, point: Point, along: float = 0.0) -> Frame:
        """Return a target's frame in world space.

        Args:
            point: The target.
            along: How far its origin is moved along a bone, as a fraction of the bone's length.
        """
        world = self.world(point.object, point.uid)
        if point.skeleton is None:
            return world
        return frame_in(world, self._aimed_at(point.skeleton, point.bone, along))

    def _aimed_at(self, rig: Skeleton, bone: int, along: float) -> Frame:
        frame = self.frame(rig, bone)
        return along_bone(frame, rig.bone(bone).length * along) if along else frame

    def frame(self, rig: Skeleton, bone: int) -> Frame:
        """Return the frame of a bone in armature space."""
        frames = self.frames.get(rig.uid)
        cached = None if frames is None else frames.get(bone)
        if cached is not None:
            return cached
        pose = self.poses.get(rig.uid)
        if pose is None:
            rows = Rows(rig.names, ())
            evaluated = self.snapshot.unsolved(rig, rows)
            pose = self.poses[rig.uid] = SolvedPose(FkPose(rig, rows), evaluated)
        if pose.now.is_at_rest:  # Rest Position doesn't show solved poses.
            return pose.now.frame(bone)
        followers = self.snapshot.followers(rig)
        if frames is None:
            frames = self.frames[rig.uid] = self._known_frames(pose, followers)
            if bone in frames:
                return frames[bone]
        if followers is not None and bone in followers.bones:
            world, other = self.world(rig.object, rig.uid), partial(self.frame, rig)
            return ConstrainedPose(followers.bones, frames, world, other).frame(bone)
        return self._computed_frame(pose, bone, frames)

    def _known_frames(self, pose: SolvedPose, followers: Followers | None) -> dict[int, Frame]:
        """Return the frames of an armature's bones that haven't changed since the last solve."""
        if followers is None:
            return {}
        rig = pose.fk.rig
        world = None if rig.uid in self.plan.carried else self.world(rig.object, rig.uid)
        moved = self.plan.moved.get(rig.uid, frozenset())
        return followers.refresh(pose.owner, pose.local, pose.now.bones, world, moved)

    def _computed_frame(self, pose: SolvedPose, bone: int, frames: dict[int, Frame]) -> Frame:
        """Compute a bone's frame, and cache it."""
        rig, evaluated = pose.fk.rig, pose.now
        moved = self.snapshot.moved(rig)
        # A chain may have more bones than Python's recursion limit.
        path: list[int] = []
        while bone in moved and bone not in frames:
            path.append(bone)
            bone = rig.parents[bone]
        frame = WHOLE
        if bone >= 0:
            if bone not in frames:
                frames[bone] = evaluated.frame(bone)
            frame = frames[bone]
        posed = self.plan.posed[rig.uid] if rig.uid in self.rigs else ()
        followers = self.snapshot.followers(rig)
        locals_ = {} if followers else self._plain_locals(pose, path, posed)
        for bone, rest in zip(reversed(path), rig.bones(path[::-1]), strict=True):
            if bone in locals_:
                frame = bone_frame(rest, locals_[bone], frame)
            elif bone in posed:
                frame = bone_frame(rest, pose.posed_local(bone), frame)
            else:
                frame = self._carried_frame(pose, bone, frame, followers)
            frames[bone] = frame
        return frame

    def _plain_locals(
        self, pose: SolvedPose, bones: Sequence[int], posed: Collection[int]
    ) -> dict[int, Local]:
        """Return the local channels of those bones that neither chains nor constraints pose."""
        constrained = self.plan.constrained.get(pose.fk.rig.uid)
        if constrained is None:
            return {}
        plain = [bone for bone in bones if not (bone in posed or bone in constrained)]
        return dict(zip(plain, pose.locals_of(plain), strict=True)) if plain else {}

    def _carried_frame(
        self, pose: SolvedPose, bone: int, parent: Frame, followers: Followers | None
    ) -> Frame:
        """Return the frame of a bone with native constraints, from its parent's frame."""
        rig = pose.fk.rig
        is_pulled = bone in self.plan.pulled.get(rig.uid, ())
        if followers is None:
            follower = follower_of(pose.owner(bone), is_pulled)
        else:
            follower = followers.find(bone, pose.owner, pose.local, is_pulled)
        frame = self._shown_frame(pose, bone, parent) if follower.is_shown else None
        if frame is None:
            frame = bone_frame(rig.bone(bone), follower.local or pose.local(bone), parent)
        if not follower.steps:
            return frame
        # If it follows itself, it does so without its constraints.
        self.frames[rig.uid][bone] = frame
        world = self.world(rig.object, rig.uid)
        spaces = ConstraintSpaces(rig.bone(bone), rig.rest_frame(bone), parent, world)
        for step in follower.steps:
            con, owner_space = step.constraint, step.owner_space
            if con is None:
                frame = pose.now.frame(bone)[0], frame[1]
                continue
            spaces.custom = WHOLE if step.custom is None else self.place(step.custom)
            try:
                at = spaces.seen(frame, owner_space) if step.moving else frame
                source = self._source(step, at, spaces)
            except ValueError:  # Something has zero scale.
                continue
            frame = spaces.constrained(con, owner_space, frame, source, step.influence)
        return frame

    def _shown_frame(self, pose: SolvedPose, bone: int, parent: Frame) -> Frame | None:
        """Return a bone's frame with its shown offset from its parent; None if singular."""
        above = pose.fk.rig.parents[bone]
        shown_parent = WHOLE if above < 0 else pose.now.frame(above)
        if mat_determinant(shown_parent[0]) == 0.0:
            return None
        return frame_in(parent, frame_in(inverse(shown_parent), pose.now.frame(bone)))

    def _source(self, step: Step, at: Frame, spaces: ConstraintSpaces | None = None) -> Frame:
        """Return the frame of a constraint's target, in its target space.

        Args:
            step: The constraint.
            at: The owner's frame in its owner space, for Armature constraints.
            spaces: The owner's spaces; None for an object.

        Raises:
            ValueError: If the space has zero scale.
        """
        con, point, space = step.constraint, step.target, step.target_space
        if isinstance(con, Armature):
            posed = [
                PosedBone(
                    self.world(bone.object, bone.uid),
                    self.frame(cast(Skeleton, bone.skeleton), bone.bone),
                )
                for bone in step.moving
            ]
            return con.motion_of(posed, at[1], WHOLE if spaces is None else spaces.world)
        if point is None:
            return WHOLE
        if space == "WORLD" or point.skeleton is None:
            return self.place(point, step.along)
        custom, owner_rest = (WHOLE, WHOLE) if spaces is None else (spaces.custom, spaces.rest)
        rig, bone = point.skeleton, point.bone
        above = rig.parents[bone]
        parent = WHOLE if above < 0 else self.frame(rig, above)
        world = self.world(point.object, point.uid)
        spaces = ConstraintSpaces(
            rig.bone(bone), rig.rest_frame(bone), parent, world, custom, owner_rest
        )
        return spaces.seen(self._aimed_at(rig, bone, step.along), space)

    def world(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return the world-space frame of an object with this session UID."""
        if uid not in self.worlds:
            world = self.snapshot.world(ob, uid)
            if world is None:
                # If objects carry each other in a cycle, this is Blender's transform.
                self.worlds[uid] = matrix_frame(self.snapshot.copy(ob).matrix_world)
                world = self._carried_world(ob, uid)
            self.worlds[uid] = world
        return self.worlds[uid]

    def basis(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return an object's frame in its parent's space, if it has a parent."""
        return self.snapshot.basis(ob, uid)

    def lift(self, chain: ChainPlan, tie: Tie, location: Vec) -> Vec:
        """Return how far a chain's body moves a target or pole at ``location``, in world space."""
        lifts = self.poses[chain.rig.uid].lifts
        lift = sum_of([lifts[bone].moved(location) for bone in tie.bones if bone in lifts])
        for hold in tie.holds if lift != ORIGIN else ():
            copy: Any = hold.owner.evaluated_get(self.depsgraph)
            con = (copy.pose.bones[hold.bone] if hold.bone else copy).constraints.get(hold.name)
            if con is not None and not con.mute:
                lift = scaled(lift, 1.0 - con.influence)
        return lift

    def _carried_world(self, ob: bpy.types.Object, uid: int) -> Frame:
        """Return the world-space frame of an object that follows a solved bone, as Blender will."""
        copy = self.snapshot.copy(ob)
        if shape_parent(ob) is not None:
            return matrix_frame(copy.matrix_world)
        world = self.snapshot.basis(ob, uid)
        if ob.parent is not None:
            link = frame_in(self._parent_world(ob), matrix_frame(copy.matrix_parent_inverse))
            world = frame_in(link, world)
        follower = follower_of(copy)
        if follower.is_shown:
            return matrix_frame(copy.matrix_world)
        for step in follower.steps:
            with suppress(ValueError):  # Something has zero scale.
                con = cast(Constraint, step.constraint)
                result = con.apply(world, self._source(step, world))
                world = influenced(world, result, step.influence)
        return world

    def _parent_world(self, ob: bpy.types.Object) -> Frame:
        parent = cast("bpy.types.Object", ob.parent)
        world = self.world(parent, parent.session_uid)
        if ob.parent_type != "BONE" or parent.type != "ARMATURE":
            return world
        rig = skeleton_of(parent)
        bone = rig.index.get(ob.parent_bone)
        if bone is None:
            return world
        frame = self.frame(rig, bone)
        rest = rest_bone(parent, ob.parent_bone)
        if rest.use_relative_parent:
            # The child is relative to the armature's origin, as moved by the bone from its rest
            # pose.
            moved = frame_in(frame, inverse(matrix_frame(rest.matrix_local)))
            return frame_in(world, moved)
        # Children of a bone are relative to its tail.
        return frame_in(world, along_bone(frame, rig.bone(bone).length))
