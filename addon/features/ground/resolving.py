"""The ground of a constraint, resolved to objects."""

from __future__ import annotations

from typing import cast

from ...blender.rays import Source, ground_of
from ...loop.chain_plan import ChainPlan
from ...loop.properties import FabrikConstraint, ends_of
from .footing import Footing
from .settings import ground_settings


def resolve_ground(chain: ChainPlan, item: FabrikConstraint) -> None:
    """Let a chain stand on the ground, if it is to.

    Raises:
        ProblemError: If there is no ground.
    """
    given = ground_settings(item)
    if not given.use:
        return
    source = cast(Source, given.source)
    ground = ground_of(
        source, given.object, given.collection, chain.rig.object, ends_of(chain.rig.object)
    )
    chain.goal_source = Footing(ground)
    chain.is_timed = True
    chain.watched += ground.objects
    differing = [ob.name for ob in ground.objects if ob.hide_viewport and not ob.hide_render]
    if differing:
        chain.note = (
            f"“{differing[0]}” is disabled in viewports but not in renders, so that the foot "
            "would only stand on it in renders: enable it, and hide it with its eye icon in the "
            "Outliner"
        )
