"""The thresholds of recognition, in one table. Tests on the corpus show the effect of each."""

from __future__ import annotations

from math import cos, radians
from typing import Final

IN_LINE: Final = cos(radians(3.0))
"""The cosine of the angle up to which two bones are in line."""

FINGERS_MIN: Final = 4
"""The least number of fingers, with the thumb, that identify a hand without a name."""

ROW: Final = 0.5
"""The greatest depth of a row of fingertips, as a fraction of its width."""

SYMMETRY_TOLERANCE: Final = 0.02
"""The largest distance of a joint from the mirror image of its twin, relative to the height."""

NO_LENGTH: Final = 1e-3
"""The largest distance of joints in one place, as a fraction of the bone or limb that ends there.
Solvers rely on it."""

MOST: Final = 0.75
"""The least fraction of items that must agree. In a symmetric pose, at least this fraction of the
joints off the median plane have a twin. At this fraction of a clip's frames, joints are within
twice `NEAR`, as keys may be missing. At half of the frames they must be within `NEAR`. The foot may
be farther away in the bone's direction: where baked IK couldn't reach its target, the leg ended
short of the foot."""

FLAT: Final = 0.84
"""The least ratio of run to rise of a flat foot: 40 degrees off vertical."""

FOOT_MAX: Final = 0.2
"""The height below which a joint may be an ankle, as a fraction of the hip's height."""

SHORT: Final = 0.6
"""The length below which a bone isn't in the same limb as another, as a fraction of the other's
length. Hips are shorter than thighs, and feet than shins."""

SHORT_ABOVE: Final = 0.8
"""The same for arms, and for limbs other than legs. A clavicle has 0.58 to 0.75 of the length of
the upper arm in skeletons of captures and games."""

COMPARABLE: Final = 0.2
"""The least length of an item that counts, relative to the item it is compared with. It applies to
the second longest finger and the longest. It applies to a last bone and its parent, if the tail
isn't guessed. It also applies to a limb that locates the trunk and the longest limb: eyelids and
lips are shorter."""

TIPS_MIN: Final = 4
"""The least number of tails that show where legs without feet stand. Importers that guess give
twins equal tails, but not all legs."""

SPRAWLING: Final = 6
"""The number of legs, as in insects, from which legs may sprawl as far as they like and still count
as standing. On one bone they form a row."""

LOW: Final = 0.15
"""The largest height of a point that still reaches the floor, as a fraction of the figure's height.
It is also the least length of a limb: ears and fingers are shorter."""

NEAR: Final = 0.05
"""The largest distance of points that count as coincident. For feet on common ground (in height),
and for hips of a rig's layers, it is relative to the figure's height. For joints, it is relative to
the last bone."""

UNLIKE: Final = 0.3
"""The least difference in length, as a fraction, of two chains that aren't twins."""

SURE: Final = 0.85
"""The confidence in a pose above which no other pose is examined. The largest is 1."""

THICKEST_SOLE: Final = 0.3
"""How high above the floor the lowest joint of a foot may be, in lengths of a leg. Ankles of people
are at about a tenth, those of figures with short legs and thick shoes are higher. The hock of a
horse is lower, but no flat foot begins there."""

ASIDE: Final = 0.01
"""The least distance of a joint from another one, or from the median plane, relative to the height:
less may be chance."""

STEEP: Final = 0.5
"""The sine of the pitch above which a chain leads down or up, not aside."""

AT_TAIL: Final = 0.5
"""The largest gap between a bone's tail and its child's head for the bone to end at its tail. It is
a fraction of the distance between the heads. Intended gaps are smaller."""

SAME_WAY: Final = cos(radians(30.0))
"""The cosine of the angle up to which directions count as the same: the axes of two joints, the
directions of a hand's fingers, one of which may be a thumb, and the axes about which a joint is
bent and would bend. The mean of several, of length 1, is at least as long if they agree."""

LONG_BONE: Final = 0.5
"""The least length of a long bone of a limb, as a fraction of the other one's. It is also the
largest length of any bone carried by the hand, as a fraction of the shorter one's, and that of a
foot, in legs. A leg that ends higher than other bones, by more than this share, ends in the air."""

CLIP_SAMPLES: Final = 64
"""The most frames of a clip to examine."""

SLIGHT: Final = radians(15.0)
"""The angle up to which a joint counts as straight: in a clip its flexion may be noise. Beyond it,
a rest pose shows how a limb folds, even if no body bends like it: backward, or mostly sideways as
in knock-knees. Bones that lead backward by more lead backward."""

TOE_LENGTH: Final = 0.5
"""The distance from the ball to the tip of the toes, relative to that from heel to ball."""

FOOT_LENGTH: Final = 2.0
"""The length of a foot without a toe joint, as a multiple of the height of its ankle."""

SMALL_BONE: Final = 0.04
"""A shorter bone before the last one belongs to a finger or a face. Relative to the armature's
largest extent. Half a limb is longer."""

STAYS_AT_END: Final = 0.25
"""The largest distance of the joints, as a fraction of the motion of the limb's end. If little
moves, many joints stay near each other."""

POLES: Final = 2.0
"""The largest distance of a helper from the limb that it lies beside, in lengths of the limb."""

ALONG_LIMB: Final = 0.1
"""The largest distance of a limb's helpers, in lengths of the limb. Muscles and twist bones lie
within it; chains such as sleeves hang off.
"""

LEAST_BONES: Final = 8
"""The fewest bones of one of several figures in an armature."""
