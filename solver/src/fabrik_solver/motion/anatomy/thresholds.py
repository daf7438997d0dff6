"""The thresholds of recognition, in one table. The tests' corpus shows what each is worth."""

from __future__ import annotations

from math import cos, radians
from typing import Final

IN_LINE: Final = cos(radians(3.0))
"""The cosine of the angle up to which two bones are in line."""

THUMB_MIN: Final = 0.4
"""The least length of the second longest finger, as a fraction of the longest."""

FINGERS_MIN: Final = 4
"""The least number of fingers, with the thumb, that identify a hand without a name."""

FINGERS_SPREAD: Final = cos(radians(45.0))
"""The cosine of the angle up to which a finger leads where the hand does; one thumb may not."""

ROW: Final = 0.5
"""The greatest depth of a row of fingertips, as a fraction of its width."""

SYMMETRY_TOLERANCE: Final = 0.02
"""The largest distance of a joint from the mirror image of its twin, relative to the height."""

NO_LENGTH: Final = 1e-4
"""The length of a bone without direction, as a fraction of its limb: two joints at one place."""

SYMMETRIC: Final = 0.75
"""The least share of the joints off the median plane that have a twin in a symmetric pose."""

ANKLE_MAX: Final = 0.4
"""The largest height of an ankle, as a fraction of the hip's: the hock of a horse is lower, but no
flat foot begins there."""

FLAT: Final = 0.84
"""The least ratio of run to rise of a flat foot: 40 degrees off vertical."""

FOOT_MAX: Final = 0.2
"""The height, as a fraction of the hip's, below which an ankle is."""

SHORT: Final = 0.6
"""The length of a bone as a fraction of another one's, below which it isn't of the same limb. Hips
are shorter than thighs, and feet than shins."""

TAIL_MIN: Final = 0.3
"""The least length of a last bone whose tail is not guessed, as a fraction of its parent's."""

TIPS_MIN: Final = 4
"""The least number of tails that show where legs without feet stand. Importers that guess give
twins equal tails, but not all legs."""

SPRAWLING: Final = 6
"""The number of legs, as in insects, from which on they stand however far they sprawl."""

NEAR: Final = 0.05
"""The largest difference in height of what is on one ground, as a fraction of the figure's."""

LOW: Final = 0.15
"""The largest height above the floor of what reaches it, as a fraction of the figure's height. It
is also the least length of a limb: ears and fingers are shorter."""

UNLIKE: Final = 0.3
"""The least difference in length, as a fraction, of two chains that aren't twins."""

LIMB: Final = 4
"""The number of equal joints that make two limbs alike, whatever one hand carries."""

ROW_MIN: Final = 3
"""The least number of pairs of limbs on one bone that make a row."""

LARGE_LIMB_MIN: Final = 0.25
"""The least length of a limb that locates the trunk, as a fraction of the longest limb's: eyelids
and lips are shorter."""

SURE: Final = 0.85
"""The sureness of a pose above which no other pose is examined."""

BETTER: Final = 0.15
"""The least gain in sureness for which a frame is preferred to the rest pose."""

BEHIND: Final = 0.2
"""The sine of the angle to the vertical above which a bone begins behind another one."""

HANGING: Final = -0.3
"""The sine of the pitch from hips to head below which a figure doesn't stand."""

THICKEST_SOLE: Final = 0.3
"""How high above the floor the lowest joint of feet may rest, in lengths of a leg. Ankles of people
are at about a tenth, those of figures with short legs and thick shoes are higher."""

ASIDE: Final = 0.01
"""The least distance of a joint from another one, or from the median plane, relative to the height:
less may be chance."""

STEEP: Final = 0.5
"""The sine of the pitch above which a chain leads down or up, not aside."""

AT_TAIL: Final = 0.5
"""The largest gap between a bone's tail and its child's head for the bone to end at its tail. It is
a fraction of the distance between the heads. Intended gaps are smaller."""

SAME_AXIS: Final = cos(radians(35.0))
"""The cosine of the angle up to which the axes of two joints count as the same."""

SHORT_ABOVE: Final = 0.8
"""The length of a bone, as a fraction of its child's, below which it is not part of the limb.

A clavicle has 0.58 to 0.75 of the length of the upper arm in skeletons of captures and games.
"""

LONG_BONE: Final = 0.5
"""The least length of a long bone of a limb, as a fraction of the other one's. It is also the
largest length of any bone carried by the hand, as a fraction of the shorter one's."""

CLIP_SAMPLES: Final = 64
"""The most frames of a clip to examine."""

LEAST_FLEXION: Final = radians(10.0)
"""The least flexion at which a clip shows the axis of a joint: less may be noise of a straight
joint."""

COHERENT: Final = cos(radians(30.0))
"""The least coherence of a joint's axes in a clip: the length of their mean, where all have 1."""

SLIGHT: Final = radians(15.0)
"""The flexion up to which a rest pose counts as straight if no body bends like it: backward, or
mostly sideways as in knock-knees. Beyond it, the pose shows how a limb folds.
"""

OTHERWISE: Final = radians(45.0)
"""The least angle for that between a joint's axis in the pose and its bend axis."""

AGREED: Final = 0.7
"""The least length of the mean of several joints' sides, which have length 1, for them to agree."""

TOE_LENGTH: Final = 0.5
"""The distance from the ball to the tip of the toes, relative to that from heel to ball."""

FOOT_LENGTH: Final = 2.0
"""The length of a foot without a toe joint, as a multiple of the height of its ankle."""

LONGEST_FOOT: Final = 0.5
"""The length above which a bone is too long for a foot, in legs."""

IN_THE_AIR: Final = 0.5
"""If a leg ends below this share of its height at rest, other bones stand for it."""

SAME_TIP: Final = 1e-3
"""The largest distance of the joint from a bone at the possible end of the limb, as a fraction of
the last bone. Solvers rely on it."""

SMALL_BONE: Final = 0.04
"""A shorter bone before the last one is of a finger or a face; as a fraction of the armature's
largest extent. Half a limb is longer."""

SAME_PLACE: Final = 0.05
"""The largest distance of coincident joints, as a fraction of the length of the last bone."""

MOSTLY: Final = 0.75
"""The fraction of a clip's frames at which joints must be within twice `SAME_PLACE`, as keys may be
missing. At half of the frames they must be within `SAME_PLACE`. The foot may be farther away in the
bone's direction: where baked IK couldn't reach its target, the leg ended short of the foot."""

STAYS_AT_END: Final = 0.25
"""The largest distance of the joints, as a fraction of the motion of the limb's end. Where little
moves, many joints stay near each other."""

LAST_LENGTHS: Final = (0.3, 3.0)
"""The minimum and maximum length of the last bone, as fractions of the length of its parent."""

POLES: Final = 2.0
"""The largest distance of a helper from the limb that it lies beside, in lengths of the limb."""

ALONG_LIMB: Final = 0.1
"""The largest distance of a limb's helpers, in lengths of the limb. Muscles and twist bones lie
within it; chains such as sleeves hang off.
"""

LEAST_BONES: Final = 8
"""The fewest bones of one of several figures in an armature."""

FIGURES_APART: Final = 0.1
"""The least distance of the hips of figures, in heights; layers of a rig are in one place."""
