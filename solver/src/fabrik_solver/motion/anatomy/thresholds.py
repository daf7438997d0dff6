"""The thresholds of recognition, in one table. Tests on the corpus show their effects."""

from math import cos, radians
from typing import Final

IN_LINE: Final = cos(radians(3.0))
"""The cosine of the angle up to which two bones are in line."""

FINGERS_MIN: Final = 4
"""Minimum number of fingers, including the thumb, that identify an unnamed hand."""

ROW: Final = 0.5
"""Maximum depth of a row of fingertips, as a fraction of its width."""

SYMMETRY_TOLERANCE: Final = 0.02
"""Maximum distance of a joint from the mirror image of its twin, relative to the height."""

NO_LENGTH: Final = 1e-3
"""Maximum distance of coincident joints, as a fraction of the bone or limb that ends there.
Solvers rely on it."""

MOST: Final = 0.75
"""Minimum fraction of items that must agree. In a symmetric pose, at least this fraction of the
joints off the median plane have a twin. At this fraction of a clip's frames, joints are within
twice `NEAR`, because keys may be missing. At half of the frames they must be within `NEAR`. The
foot may be farther away in the bone's direction: if baked IK couldn't reach its target, the leg
ended short of the foot."""

FLAT: Final = 0.84
"""Minimum ratio of run to rise of a flat foot: 40 degrees off vertical."""

FOOT_MAX: Final = 0.2
"""Maximum height of a joint that may be an ankle, as a fraction of the hip's height."""

SHORT: Final = 0.6
"""Bones shorter than this fraction of another bone aren't in the same limb. Hips are shorter
than thighs, and feet than shins."""

SHORT_ABOVE: Final = 0.8
"""The same for arms, and for limbs other than legs. In skeletons of captures and games, a
clavicle has 0.58 to 0.75 of the upper arm's length."""

COMPARABLE: Final = 0.2
"""Minimum length of an item that counts, relative to the item it is compared with. It applies to
the second longest finger and the longest. It applies to a last bone and its parent, if the tail
isn't guessed. It also applies to a limb that locates the trunk and the longest limb, because
eyelids and lips are shorter."""

TIPS_MIN: Final = 4
"""Minimum number of tails that show where legs without feet stand. Importers that guess tails
give equal ones to twins, but not to all legs."""

SPRAWLING: Final = 6
"""Minimum number of legs, as in insects, that count as standing however far they sprawl. On one
bone they form a row."""

LOW: Final = 0.15
"""Maximum height of a point that still reaches the floor, as a fraction of the body's height.
It is also the minimum length of a limb, because ears and fingers are shorter."""

NEAR: Final = 0.05
"""Maximum distance of points that count as coincident. For feet on common ground (in height),
and for hips of a rig's layers, it is relative to the body's height. For joints, it is relative to
the last bone."""

UNLIKE: Final = 0.3
"""Minimum relative difference in length of two chains that aren't twins."""

KNOWLEDGE: Final = {"NAMES": 1.0, "AXIS": 0.9, "SHAPE": 0.8}
"""The confidence in the sides, by evidence."""

SURE: Final = 0.85
"""The confidence in a pose above which no other pose is examined. The maximum is 1."""

THICKEST_SOLE: Final = 0.3
"""Maximum height of a foot's lowest joint above the floor, in leg lengths. Ankles of people are
at about a tenth. They are higher in bodies with short legs and thick shoes. The hock of a horse is
lower, but no flat foot begins there."""

ASIDE: Final = 0.01
"""Minimum distance of a joint from another joint, or from the median plane, relative to the
height. Smaller distances may be chance."""

STEEP: Final = 0.5
"""The sine of the pitch above which a chain leads down or up, not aside."""

AT_TAIL: Final = 0.5
"""Maximum gap between a bone's tail and its child's head, as a fraction of the distance between
the heads, for the bone to end at its tail. Intended gaps are smaller."""

SAME_WAY: Final = cos(radians(30.0))
"""The cosine of the angle up to which directions count as the same. It applies to the axes of
two joints, and to the directions of a hand's fingers, one of which may be a thumb. It also
applies to the axes about which a joint is bent and would bend. If several unit vectors agree,
their mean is at least this long."""

LONG_BONE: Final = 0.5
"""Minimum length of a limb's long bone, as a fraction of the other long bone. Also the maximum
length of any bone carried by the hand, as a fraction of the shorter long bone. Also the maximum
length of a foot, in leg lengths. Also the minimum length of chains that show where left is, as a
fraction of the longest such chain. A leg that ends higher than other bones by more than this
fraction ends in the air."""

CLIP_SAMPLES: Final = 64
"""Maximum number of frames of a clip to examine."""

SLIGHT: Final = radians(15.0)
"""Maximum angle at which a joint counts as straight, because flexion in a clip may be noise. Above
it, a rest pose shows how a limb folds, even if no body folds that way: backward, or mostly
sideways as in knock-knees. It is also the angle above which bones lead backward."""

TOE_LENGTH: Final = 0.5
"""The distance from the ball to the tip of the toes, relative to the distance from heel to ball."""

FOOT_LENGTH: Final = 2.0
"""The length of a foot without a toe joint, as a multiple of its ankle's height."""

SMALL_BONE: Final = 0.04
"""A bone before the last one that is shorter than this belongs to a finger or a face. It is
relative to the armature's largest extent. Half a limb is longer."""

STAYS_AT_END: Final = 0.25
"""Maximum distance of the joints, as a fraction of the motion of the limb's end. If little
moves, many joints stay near each other."""

POLES: Final = 2.0
"""Maximum distance of a helper from the limb next to it, in limb lengths."""

ALONG_LIMB: Final = 0.1
"""Maximum distance of a limb's helpers, in limb lengths. Muscles and twist bones lie within it;
chains such as sleeves hang off."""

LEAST_BONES: Final = 8
"""Minimum number of bones of one of several bodies in an armature."""
