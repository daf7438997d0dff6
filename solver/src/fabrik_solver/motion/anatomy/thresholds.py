"""The thresholds of recognition, in one table: the corpus of tests counts what each is worth."""

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
"""The length of a bone as a fraction of another one's, below which it is not of the same limb: hips
are shorter than thighs, and feet than shins."""

TAIL_MIN: Final = 0.3
"""The least length of a last bone whose tail is not guessed, as a fraction of its parent's."""

TIPS_MIN: Final = 4
"""The least number of tails that show where legs without feet stand. Importers that guess give
twins equal tails, but not all legs."""

SPRAWLING: Final = 6
"""The number of legs, as of an insect, from which on they stand however far they sprawl."""

NEAR: Final = 0.05
"""The largest difference in height of what is on one ground, as a fraction of the figure's."""

LOW: Final = 0.15
"""The largest height above the floor of what reaches it, as a fraction of the figure's height; and
the least length of a limb: ears and fingers are shorter."""

UNLIKE: Final = 0.3
"""The least difference in length, as a fraction, of two chains that aren't twins."""

LIMB: Final = 4
"""The number of joints from which on a limb is alike, whatever one hand carries."""

ROW_MIN: Final = 3
"""The least number of pairs of limbs on one bone that make a row."""

LARGE_LIMB_MIN: Final = 0.25
"""The least length of a limb that locates the trunk, as a fraction of the longest limb's: eyelids
and lips are shorter."""

SURE: Final = 0.85
"""The sureness of a pose from which on no other pose is looked at."""

BETTER: Final = 0.15
"""The least gain in sureness for which a frame is preferred to the rest pose."""

BEHIND: Final = 0.2
"""The sine of the angle to the vertical from which on a bone begins behind another one."""

HANGING: Final = -0.3
"""The sine of the pitch from hips to head below which a figure does not stand."""

THICKEST_SOLE: Final = 0.3
"""How high above the floor the lowest joint of feet may rest, in lengths of a leg: ankles of people
are at about a tenth, those of figures with short legs and thick shoes are higher."""

ASIDE: Final = 0.01
"""The least distance of a joint from another one, or from the median plane, relative to the height:
less may be chance."""

STEEP: Final = 0.5
"""The sine of the pitch from which on a chain leads down or up, and not aside."""
