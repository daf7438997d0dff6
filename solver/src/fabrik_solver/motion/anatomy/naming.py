"""Reads bone names: the side of a bone, and the part of the body it belongs to.

The words are those of game engines, capture systems, character generators and animators, and the
Japanese words of MikuMikuDance. Numbers are ignored.
"""

import re
from functools import cache
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


JAPANESE: Final = {
    "足首": "ankle",
    "足先": "toe",
    "つま先": "toe",
    "爪先": "toe",
    "足": "leg",
    "ひざ": "knee",
    "膝": "knee",
    "手首": "wrist",
    "手捩": "forearm twist",
    "腕": "arm",
    "ひじ": "elbow",
    "肘": "elbow",
    "左": "left",
    "右": "right",
    "肩": "shoulder",
    "捩": "twist",
    "親指": "thumb",
    "人指": "index",
    "人差指": "index",
    "中指": "middle",
    "薬指": "ring",
    "小指": "pinky",
    "上半身": "spine",
    "下半身": "pelvis",
    "腰": "waist",
    "首": "neck",
    "頭": "head",
    "目": "eye",
    "顎": "jaw",
    "舌": "tongue",
    "耳": "ear",
    "髪": "hair",
    "胸": "breast",
    "袖": "sleeve",
    "スカート": "skirt",
    "しっぽ": "tail",
    "尻尾": "tail",
    "翼": "wing",
    "羽": "wing",
    "\uff29\uff2b": "ik",
}
"""Words in MikuMikuDance's bone names; the last one has full-width letters."""

COMPOUNDS: Final = {
    "foretwist": "forearm twist",
    "hipjoint": "hip joint",
    "shldr": "shoulder",
    "toebase": "toe",
    "toes": "toe",
    "fins": "fin",
    "legs": "leg",
    "arms": "arm",
    "ears": "ear",
    "fl": "front l",
    "fr": "front r",
    "rl": "rear l",
    "rr": "rear r",
    "lr": "rear l",
    "bl": "back l",
    "br": "back r",
    "hl": "hind l",
    "hr": "hind r",
}
"""Words that are joined or abbreviated."""

GIRDLE: Final = _words("buttock clavicle collar collarbone coxa haunch hip pelvis scapula shoulder")
"""Words in the names of bones between trunk and limb, if two bending bones follow."""

FACE: Final = {"chin", "face", "jaw", "nose"}
END: Final = {"end", "nub", "tip"}
"""Words that importers and exporters add to a bone's name for a bone at its end."""

TWIST: Final = {"part", "roll", "tw", "twist"}
"""Words in the names of twist bones."""

JOINT_AXES: Final = {"pitch", "yaw"}
"""Words in the names of a robot's joints with a single axis."""

HAND: Final = {"hand", "wrist"}
LEFTS: Final = _words("gauche izq izquierda izquierdo l le left lf lft links lt")
RIGHTS: Final = _words("der derecha derecho droite r rechts rf rgt ri right rt")
MIRRORED: Final = {"左": "右", "右": "左"}
"""The sides in Japanese names."""

SIDES: Final = dict.fromkeys(LEFTS, 1) | dict.fromkeys(RIGHTS, -1)
NOT_BODY: Final = {"ik", "pole", "ctrl", "control", "target", "mch", "drv"}
"""Words in the names of bones that are controls or mechanisms."""

TRUNK: Final = _words("abdomen chest head hip hips neck pelvis spine torso waist")
"""Words in the names of bones on the median plane, unless they have a side."""

UPPER: Final = {"u", "up", "upper"}
LOWER: Final = {"lo", "low", "lower"}
"""Words that distinguish the two bones of a limb, next to ``arm`` or ``leg``."""

OTHER: Final = _words(
    """
    accessory antenna antler backpack bag bagpack belt braid breast brow bust cape cheek cloak
    cloth coat dorsal dress ear eye eyebrow eyelid feather fin flipper fluke gun hair horn item
    jaw lip mouth pectoral pigtail ponytail rib ribbon ribs rope scarf shield skirt sleeve
    stinger strap sword tail teeth tentacle tongue tool weapon whisker wing wire
    """
)
"""Words in the names of bones that are neither trunk nor limb."""

PARTS: Final = (
    ("TOE", {"ball", "claw", "metatarsal", "metatarsals", "toe"}),
    (
        "FINGER",
        _words("carpal digit finger index little metacarpal middle pinky ring thumb"),
    ),
    ("FOOT", {"ankle", "foot", "hoof", "paw"}),
    ("HAND", {"fist", "palm", *HAND}),
    ("GIRDLE", GIRDLE),
    ("SHIN", {"calf", "crus", "knee", "shank", "shin", "tibia"}),
    ("THIGH", {"femur", "thigh"}),
    ("FOREARM", {"elbow", "forearm", "radius", "ulna"}),
    ("UPPER_ARM", {"humerus"}),
)
"""The parts of limbs with their words; the first part with a word of the name applies."""

FRONT_OR_HIND: Final = {"back", "fore", "front", "hind", "mid", "middle", "rear"}
"""Words that distinguish the legs of an animal."""

NO_DIGIT: Final = {"arm": "claw"} | dict.fromkeys(
    ("coxa", "femur", "leg", "tarsus", "thigh", "tibia"), "middle"
)
"""Words that keep a neighboring word from meaning a finger or toe. The middle leg of an insect
has no middle finger, and the claw arm of a crab isn't a toe."""

LEG_PARTS: Final = {"FOOT", "LEG", "SHIN", "THIGH", "TOE"}
ARM_PARTS: Final = {"ARM", "FINGER", "FOREARM", "HAND", "UPPER_ARM"}

_JAPANESE = "|".join(sorted(JAPANESE, key=len, reverse=True))
WORDS: Final = re.compile(
    rf"{_JAPANESE}|(?<![A-Za-z])[LR](?=[A-Z]{{1,2}}[a-z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+"
)

_LIMB: Final = {"arm", "leg"}.union(*(words for _, words in PARTS))
KNOWN: Final = {*TRUNK, *COMPOUNDS, *_LIMB}
"""Words that may follow a single ``l`` or ``r`` for the side, as in ``lknee``."""

_BEFORE = "|".join(sorted(UPPER | LOWER | FRONT_OR_HIND, key=len, reverse=True))
IS_KNOWN: Final = re.compile(rf"(?:{_BEFORE})+(?:{'|'.join(_LIMB)})|{'|'.join(KNOWN)}")
"""A word of `KNOWN`, or a part of a limb joined with an identifying word, as in ``hindleg``."""

JOINED: Final = re.compile(rf"{_BEFORE}|.+")
"""The parts of joined words: ``hindleg`` is ``hind`` and ``leg``."""


@cache
def words_of(name: str) -> tuple[str, ...]:
    """Return the words of a bone's name in lower case, in English even if the name is Japanese.

    Numbers, and a prefix that ends in a colon, are ignored.
    """
    parts: list[str] = []
    words: list[str] = WORDS.findall(name.rpartition(":")[2])
    for word in words:
        plain, twist = _without_twist(JAPANESE.get(word, word.lower()))
        if plain[0] in "lr" and IS_KNOWN.fullmatch(plain[1:]) and not IS_KNOWN.fullmatch(plain):
            parts.append(plain[0])
            plain = plain[1:]
        is_joined = plain not in KNOWN and IS_KNOWN.fullmatch(plain)
        parts += (
            *(JOINED.findall(plain) if is_joined else COMPOUNDS.get(plain, plain).split()),
            *twist,
        )
    return tuple(parts)


@cache
def _without_twist(word: str) -> tuple[str, tuple[str, ...]]:
    """Split a word such as ``forearmtwist`` into the limb and the twist word, if any."""
    for twist in TWIST:
        stem = word.replace(twist, "")
        if IS_KNOWN.fullmatch(stem) or (stem[:1] in "lr" and IS_KNOWN.fullmatch(stem[1:])):
            return stem, (twist,) if stem != word else ()
    return word, ()


def opposites(name: str) -> list[str]:
    """Return possible names of a bone's counterpart on the other side.

    The word for the side may be anywhere in the name. It is replaced by each word for the other
    side, in the same case.
    """
    names: list[str] = []
    for match in WORDS.finditer(name):
        word = match.group()
        side = SIDES.get(word.lower(), 0)
        if word in MIRRORED:
            names.append(name[: match.start()] + MIRRORED[word] + name[match.end() :])
        for other in sorted(RIGHTS if side > 0 else LEFTS) if side else ():
            is_title = word[:1].isupper()
            cased = other.capitalize() if is_title else other
            cased = other.upper() if word.isupper() else cased
            names.append(name[: match.start()] + cased + name[match.end() :])
    return names


def side_of(name: str) -> int:
    """Return the side of a name: 1 for left, -1 for right, 0 for neither or both."""
    return stem_and_side(words_of(name))[1]


def stem_and_side(words: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Return the words of a name without its side, and the side as `side_of` does.

    The longest words count: in ``left_r_leg``, the letter stands for the rear.
    """
    sides = {word for word in words if word in SIDES}
    size = max([len(word) for word in sides], default=0)
    stem = tuple([word for word in words if word not in sides or len(word) < size])
    return stem, sum({SIDES[word] for word in sides if len(word) == size})


@cache
def part_of(words: tuple[str, ...]) -> str:
    """Return the part of a limb that a name stands for: one of `PARTS` or a bone of a limb.

    ``'ARM'`` and ``'LEG'`` may be the whole limb or either of its bones. ``'OTHER'`` isn't part of
    a limb; an empty string means unknown.
    """
    word_set = set(words)
    if OTHER & word_set:
        return "OTHER"
    word_set -= {NO_DIGIT[word] for word in word_set if word in NO_DIGIT}
    for part, part_words in PARTS:
        if part_words & word_set:
            return part
    if "leg" in word_set:
        return "THIGH" if UPPER & word_set else "SHIN" if LOWER & word_set else "LEG"
    if "arm" in word_set:
        is_lower = (LOWER | {"f", "fore"}) & word_set  # An animal's fore leg is its front leg.
        return "UPPER_ARM" if UPPER & word_set else "FOREARM" if is_lower else "ARM"
    return ""
