"""Skeletons as other programs name, parent and orient them, with the proportions of one human.

The names and parents are those of the programs; the joints are placed by us. A skeleton is written
as indented lines, children below their parents. `*` stands for a side, for which the bones occur
twice. `@` says where a bone is: at a joint, between two (`thigh~shin*0.5`), or else at its parent
or a little beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import cos, radians, sin
from typing import NamedTuple

import bpy
from mathutils import Matrix, Vector
from rigs import activate, link

Place = tuple[float, float, float]

TRUNK: dict[str, Place] = {
    "ground": (0.0, 0.0, 0.0),
    "pelvis": (0.0, 0.0, 0.98),
    "spine": (0.0, -0.01, 1.08),
    "chest": (0.0, 0.0, 1.28),
    "neck": (0.0, 0.02, 1.50),
    "head": (0.0, 0.0, 1.60),
    "crown": (0.0, 0.0, 1.80),
}
SIDE: dict[str, Place] = {
    "eye": (0.03, -0.08, 1.68),
    "breast": (0.08, -0.08, 1.33),
    "clavicle": (0.03, 0.0, 1.44),
    "arm": (0.17, 0.02, 1.44),
    "elbow": (0.45, 0.02, 1.44),
    "hand": (0.70, 0.02, 1.44),
    "thumb": (0.73, -0.02, 1.43),
    "index": (0.79, -0.01, 1.44),
    "middle": (0.79, 0.01, 1.44),
    "ring": (0.79, 0.03, 1.44),
    "pinky": (0.78, 0.05, 1.44),
    "thigh": (0.10, 0.0, 0.92),
    "shin": (0.10, 0.0, 0.50),
    "foot": (0.10, 0.0, 0.08),
    "toe": (0.10, -0.14, 0.02),
    "toe end": (0.10, -0.21, 0.02),
    "heel": (0.10, 0.05, 0.02),
}
"""The left side. The legs are exactly straight."""

ARM = ("clavicle", "arm", "elbow", "hand", "thumb", "index", "middle", "ring", "pinky")

MIXAMO = """
mixamorig:Hips @pelvis
 mixamorig:Spine @spine
  mixamorig:Spine1 @spine~chest*0.5
   mixamorig:Spine2 @chest
    mixamorig:Neck @neck
     mixamorig:Head @head
      mixamorig:HeadTop_End @crown
      mixamorig:*Eye @eye
    mixamorig:*Shoulder @clavicle
     mixamorig:*Arm @arm
      mixamorig:*ForeArm @elbow
       mixamorig:*Hand @hand
        mixamorig:*HandThumb1 @thumb
         mixamorig:*HandThumb2
          mixamorig:*HandThumb3
           mixamorig:*HandThumb4
        mixamorig:*HandIndex1 @index
         mixamorig:*HandIndex2
          mixamorig:*HandIndex3
           mixamorig:*HandIndex4
        mixamorig:*HandMiddle1 @middle
         mixamorig:*HandMiddle2
          mixamorig:*HandMiddle3
           mixamorig:*HandMiddle4
        mixamorig:*HandPinky1 @pinky
         mixamorig:*HandPinky2
          mixamorig:*HandPinky3
           mixamorig:*HandPinky4
 mixamorig:*UpLeg @thigh
  mixamorig:*Leg @shin
   mixamorig:*Foot @foot
    mixamorig:*ToeBase @toe
     mixamorig:*Toe_End @toe end
"""

READY_PLAYER_ME = MIXAMO.replace("mixamorig:", "")

UNREAL_4 = """
root @ground
 pelvis @pelvis
  spine_01 @spine
   spine_02 @spine~chest*0.5
    spine_03 @chest
     clavicle_* @clavicle
      upperarm_* @arm
       upperarm_twist_01_* @arm~elbow*0.1
       lowerarm_* @elbow
        lowerarm_twist_01_* @elbow~hand*0.6
        hand_* @hand
         index_01_* @index
          index_02_*
           index_03_*
         middle_01_* @middle
          middle_02_*
           middle_03_*
         pinky_01_* @pinky
          pinky_02_*
           pinky_03_*
         thumb_01_* @thumb
          thumb_02_*
           thumb_03_*
     neck_01 @neck
      head @head
  thigh_* @thigh
   thigh_twist_01_* @thigh~shin*0.5
   calf_* @shin
    calf_twist_01_* @shin~foot*0.6
    foot_* @foot
     ball_* @toe
 ik_foot_root @ground
  ik_foot_* @foot
 ik_hand_root @ground
  ik_hand_gun @hand
   ik_hand_* @hand
"""

UNREAL_5 = """
root @ground
 pelvis @pelvis
  spine_01 @pelvis~spine*0.5
   spine_02 @spine
    spine_03 @spine~chest*0.5
     spine_04 @chest
      spine_04_latissimus_* @breast
      spine_05 @chest~neck*0.5
       neck_01 @neck
        neck_02 @neck~head*0.5
         head @head
       clavicle_* @clavicle
        clavicle_out_* @clavicle~arm*0.7
        clavicle_scap_* @clavicle~arm*0.7
        upperarm_* @arm
         upperarm_twist_01_* @arm~elbow*0.3
          upperarm_twistCor_01_* @arm~elbow*0.3
         upperarm_twist_02_* @arm~elbow*0.7
          upperarm_bicep_* @arm~elbow*0.7
         upperarm_correctiveRoot_* @arm
          upperarm_bck_* @arm
          upperarm_fwd_* @arm
         lowerarm_* @elbow
          lowerarm_correctiveRoot_* @elbow
           lowerarm_in_* @elbow
           lowerarm_bck_* @elbow
          lowerarm_twist_02_* @elbow~hand*0.3
          lowerarm_twist_01_* @elbow~hand*0.7
          hand_* @hand
           index_metacarpal_* @hand~index*0.3
            index_01_* @index
             index_02_*
              index_03_*
           middle_metacarpal_* @hand~middle*0.3
            middle_01_* @middle
             middle_02_*
              middle_03_*
           thumb_01_* @thumb
            thumb_02_*
             thumb_03_*
           wrist_inner_* @hand
           wrist_outer_* @hand
       clavicle_pec_* @breast
  thigh_* @thigh
   thigh_correctiveRoot_* @thigh
    thigh_bck_* @thigh
    thigh_fwd_* @thigh
    thigh_bck_lwr_* @thigh~shin*0.6
   thigh_twist_01_* @thigh~shin*0.3
    thigh_twistCor_01_* @thigh~shin*0.3
   thigh_twist_02_* @thigh~shin*0.7
   calf_* @shin
    calf_correctiveRoot_* @shin
     calf_kneeBack_* @shin
     calf_knee_* @shin
    calf_twist_02_* @shin~foot*0.3
    calf_twist_01_* @shin~foot*0.7
    foot_* @foot
     ankle_bck_* @foot
     ankle_fwd_* @foot
     ball_* @toe
      bigtoe_01_*
       bigtoe_02_*
      indextoe_01_*
       indextoe_02_*
 ik_foot_root @ground
  ik_foot_* @foot
 ik_hand_root @ground
  ik_hand_gun @hand
   ik_hand_* @hand
 interaction @ground
 center_of_mass @ground
"""

VROID = """
Root @ground
 J_Bip_C_Hips @pelvis
  J_Bip_C_Spine @spine
   J_Bip_C_Chest @spine~chest*0.5
    J_Bip_C_UpperChest @chest
     J_Bip_C_Neck @neck
      J_Bip_C_Head @head
       J_Adj_*_FaceEye @eye
       J_Sec_Hair1_01 @crown
        J_Sec_Hair2_01 @head
         J_Sec_Hair3_01 @chest
          J_Sec_Hair4_01 @spine
     J_Sec_*_Bust1 @breast
      J_Sec_*_Bust2
     J_Bip_*_Shoulder @clavicle
      J_Bip_*_UpperArm @arm
       J_Bip_*_LowerArm @elbow
        J_Bip_*_Hand @hand
         J_Bip_*_Index1 @index
          J_Bip_*_Index2
           J_Bip_*_Index3
         J_Bip_*_Little1 @pinky
          J_Bip_*_Little2
           J_Bip_*_Little3
         J_Bip_*_Thumb1 @thumb
          J_Bip_*_Thumb2
           J_Bip_*_Thumb3
  J_Bip_*_UpperLeg @thigh
   J_Bip_*_LowerLeg @shin
    J_Bip_*_Foot @foot
     J_Bip_*_ToeBase @toe
   J_Sec_*_SkirtBack0_01 @thigh
    J_Sec_*_SkirtBack1_01 @thigh~shin*0.5
     J_Sec_*_SkirtBack2_01 @shin
  J_Sec_*_CoatSkirtFront1_01 @thigh
   J_Sec_*_CoatSkirtFront2_01 @thigh~shin*0.6
    J_Sec_*_CoatSkirtFront3_01 @shin
     J_Sec_*_CoatSkirtFront4_01 @shin~foot*0.6
"""

BIPED = """
Bip001 @pelvis
 Bip001 Footsteps @ground
 Bip001 Pelvis @pelvis
  Bip001 Spine @spine
   Bip001 Spine1 @spine~chest*0.5
    Bip001 Spine2 @chest
     Bip001 Neck @neck
      Bip001 Head @head
       Bip001 HeadNub @crown
       Bip001 Ponytail1 @crown
        Bip001 Ponytail11 @head
         Bip001 Ponytail1Nub @chest
      Bip001 * Clavicle @clavicle
       Bip001 * UpperArm @arm
        Bip001 * Forearm @elbow
         Bip001 * Hand @hand
          Bip001 * Finger0 @thumb
           Bip001 * Finger01
            Bip001 * Finger02
             Bip001 * Finger0Nub
          Bip001 * Finger1 @index
           Bip001 * Finger11
            Bip001 * Finger12
             Bip001 * Finger1Nub
         Bip001 * ForeTwist @elbow
          Bip001 * ForeTwist1 @elbow~hand*0.5
        Bip001 *UpArmTwist @arm
   Bip001 * Thigh @thigh
    Bip001 * Calf @shin
     Bip001 * Foot @foot
      Bip001 * Toe0 @toe
       Bip001 * Toe0Nub @toe end
    Bip001 *ThighTwist @thigh
     Bip001 *ThighTwist1 @thigh~shin*0.5
"""

GENESIS_8 = """
Genesis8Female @ground
 hip @pelvis
  pelvis @pelvis
   *ThighBend @thigh
    *ThighTwist @thigh~shin*0.5
     *Shin @shin
      *Foot @foot
       *Metatarsals @foot~toe*0.3
        *Toe @toe
         *BigToe
          *BigToe_2
         *SmallToe1
          *SmallToe1_2
       *Heel @heel
  abdomenLower @spine
   abdomenUpper @spine~chest*0.5
    chestLower @chest
     *Pectoral @breast
     chestUpper @chest~neck*0.5
      *Collar @clavicle
       *ShldrBend @arm
        *ShldrTwist @arm~elbow*0.5
         *ForearmBend @elbow
          *ForearmTwist @elbow~hand*0.5
           *Hand @hand
            *Thumb1 @thumb
             *Thumb2
              *Thumb3
            *Carpal1 @hand~index*0.2
             *Index1 @index
              *Index2
               *Index3
            *Carpal2 @hand~middle*0.2
             *Mid1 @middle
              *Mid2
               *Mid3
      neckLower @neck
       neckUpper @neck~head*0.5
        head @head
         upperFaceRig @head
          *BrowInner @eye
         lowerJaw @head
          tongue01 @head
           tongue02 @head
         *Eye @eye
         *Ear @eye
"""

GENESIS_9 = """
hip @pelvis
 pelvis @pelvis
  *_thigh @thigh
   *_thightwist1 @thigh
   *_thightwist2 @thigh~shin*0.5
   *_shin @shin
    *_foot @foot
     *_metatarsals @foot~toe*0.3
     *_toes @toe
      *_bigtoe1
       *_bigtoe2
 spine1 @spine
  spine2 @spine~chest*0.5
   spine3 @chest
    spine4 @chest~neck*0.5
     *_pectoral @breast
     *_shoulder @clavicle
      *_upperarm @arm
       *_upperarmtwist1 @arm
       *_upperarmtwist2 @arm~elbow*0.5
       *_forearm @elbow
        *_forearmtwist1 @elbow
        *_forearmtwist2 @elbow~hand*0.5
        *_hand @hand
         *_thumb1 @thumb
          *_thumb2
           *_thumb3
         *_indexmetacarpal @hand~index*0.2
          *_index1 @index
           *_index2
            *_index3
     neck1 @neck
      neck2 @neck~head*0.5
       head @head
        lowerjaw @head
         tongue01 @head
          tongue02 @head
        *_eye @eye
"""

MAKEHUMAN = """
root @pelvis
 spine05 @pelvis~spine*0.5
  spine04 @spine
   spine03 @spine~chest*0.5
    spine02 @chest
     breast.* @breast
     spine01 @chest~neck*0.5
      neck01 @neck
       neck02 @neck~head*0.3
        neck03 @neck~head*0.6
         head @head
          jaw @head
           tongue00 @head
            tongue01 @head
          eye.* @eye
      clavicle.* @clavicle
       shoulder01.* @clavicle~arm*0.6
        upperarm01.* @arm
         upperarm02.* @arm~elbow*0.5
          lowerarm01.* @elbow
           lowerarm02.* @elbow~hand*0.5
            wrist.* @hand
             finger1-1.* @thumb
              finger1-2.*
               finger1-3.*
             metacarpal1.* @hand~index*0.2
              finger2-1.* @index
               finger2-2.*
                finger2-3.*
             metacarpal2.* @hand~middle*0.2
              finger3-1.* @middle
               finger3-2.*
                finger3-3.*
 pelvis.* @pelvis~thigh*0.3
  upperleg01.* @thigh
   upperleg02.* @thigh~shin*0.5
    lowerleg01.* @shin
     lowerleg02.* @shin~foot*0.5
      foot.* @foot
       toe1-1.* @toe
        toe1-2.*
       toe2-1.* @toe
        toe2-2.*
         toe2-3.*
"""

AUTO_RIG_PRO = """
root.x @pelvis
 spine_01.x @spine
  spine_02.x @spine~chest*0.5
   spine_03.x @chest
    neck.x @neck
     head.x @head
    breast_01.* @breast
    shoulder.* @clavicle
     arm_stretch.* @arm
      arm_twist.* @arm~elbow*0.5
      forearm_stretch.* @elbow
       forearm_twist.* @elbow~hand*0.5
       hand.* @hand
        c_thumb1.* @thumb
         c_thumb2.*
          c_thumb3.*
        c_index1_base.* @hand~index*0.2
         c_index1.* @index
          c_index2.*
           c_index3.*
 thigh_stretch.* @thigh
  thigh_twist.* @thigh~shin*0.5
  leg_stretch.* @shin
   leg_twist.* @shin~foot*0.5
   foot.* @foot
    toes_01.* @toe
"""

MMD = """
全ての親 @ground
 センター @thigh
  グルーブ @thigh
   腰 @pelvis
    上半身 @spine
     上半身2 @chest
      首 @neck
       頭 @head
        両目 @crown
        *目 @eye
      *肩P @clavicle
       *肩 @clavicle
        *肩C @arm
         *腕 @arm
          *腕捩 @arm~elbow*0.6
           *ひじ @elbow
            *手捩 @elbow~hand*0.6
             *手首 @hand
              *親指０ @thumb
               *親指１
                *親指２
              *人指１ @index
               *人指２
                *人指３
    下半身 @spine
     腰キャンセル* @thigh
     *足 @thigh
      *ひざ @shin
       *足首 @foot
        *つま先 @toe
 *足IK親 @heel
  *足ＩＫ @foot
   *つま先ＩＫ @toe
"""

MMD_TOOLS = re.sub(r"(?m)^( *)\*(\S+)", r"\1\2.*", MMD)
"""As mmd_tools renames them."""

CHARACTER_CREATOR = """
CC_Base_BoneRoot @ground
 CC_Base_Hip @pelvis
  CC_Base_Pelvis @pelvis
   CC_Base_*_Thigh @thigh
    CC_Base_*_ThighTwist01 @thigh~shin*0.2
     CC_Base_*_ThighTwist02 @thigh~shin*0.6
    CC_Base_*_Calf @shin
     CC_Base_*_CalfTwist01 @shin~foot*0.2
      CC_Base_*_CalfTwist02 @shin~foot*0.6
     CC_Base_*_KneeShareBone @shin
     CC_Base_*_Foot @foot
      CC_Base_*_ToeBase @toe
       CC_Base_*_BigToe1
       CC_Base_*_IndexToe1
      CC_Base_*_ToeBaseShareBone @toe
  CC_Base_Waist @spine
   CC_Base_Spine01 @spine~chest*0.5
    CC_Base_Spine02 @chest
     CC_Base_*_RibsTwist @breast
      CC_Base_*_Breast
     CC_Base_NeckTwist01 @neck
      CC_Base_NeckTwist02 @neck~head*0.5
       CC_Base_Head @head
        CC_Base_FacialBone @head
         CC_Base_JawRoot @head
          CC_Base_Tongue01 @head
         CC_Base_*_Eye @eye
     CC_Base_*_Clavicle @clavicle
      CC_Base_*_Upperarm @arm
       CC_Base_*_UpperarmTwist01 @arm~elbow*0.2
        CC_Base_*_UpperarmTwist02 @arm~elbow*0.6
       CC_Base_*_Forearm @elbow
        CC_Base_*_ElbowShareBone @elbow
        CC_Base_*_ForearmTwist01 @elbow~hand*0.2
         CC_Base_*_ForearmTwist02 @elbow~hand*0.6
        CC_Base_*_Hand @hand
         CC_Base_*_Thumb1 @thumb
          CC_Base_*_Thumb2
           CC_Base_*_Thumb3
         CC_Base_*_Index1 @index
          CC_Base_*_Index2
           CC_Base_*_Index3
"""

SECOND_LIFE = """
mPelvis @pelvis
 mTorso @spine
  mChest @chest
   mNeck @neck
    mHead @head
     mSkull @crown
     mEye* @eye
   mCollar* @clavicle
    mShoulder* @arm
     mElbow* @elbow
      mWrist* @hand
 mHip* @thigh
  mKnee* @shin
   mAnkle* @foot
    mFoot* @toe
     mToe* @toe end
"""


class Layout(NamedTuple):
    """A skeleton of a program.

    Attributes:
        text: Its bones.
        sides: The names of left and right.
        arm: How far its arms hang down at rest, in degrees.
        space: The armature's units per metre, and whether Y is up in it.
        parts: Kind, bone and the bones of the chain, root first, of each part to be recognized.
    """

    text: str
    sides: tuple[str, str]
    arm: float
    space: tuple[float, bool]
    parts: list[tuple[str, str, list[str]]]


def _parts(
    sides: tuple[str, str], spine: str, head: str, arm: str, leg: str
) -> list[tuple[str, str, list[str]]]:
    """Return parts; each is written as its bones root first, an arm or leg with hand or foot."""
    found = [("SPINE", spine.split(";")[-1], spine.split(";"))]
    for kind, text in (("ARM", arm), ("LEG", leg)):
        for side in sides:
            *bones, end = text.replace("*", side).split(";")
            found.append((kind, end, bones))
    return [*found, ("HEAD", head.split(";")[-1], head.split(";"))]


def _layout(
    text: str,
    sides: tuple[str, str],
    arm: float,
    space: tuple[float, bool],
    *parts: str,
) -> Layout:
    return Layout(text, sides, arm, space, _parts(sides, *parts))


FBX = (100.0, True)
"""The armature is in centimetres with Y up; the object is scaled to 0.01 and rotated by 90° X."""

PLAIN = (1.0, False)

LAYOUTS: dict[str, Layout] = {
    "mixamo": _layout(
        MIXAMO,
        ("Left", "Right"),
        0.0,
        FBX,
        "mixamorig:Spine;mixamorig:Spine1;mixamorig:Spine2",
        "mixamorig:Neck;mixamorig:Head",
        "mixamorig:*Arm;mixamorig:*ForeArm;mixamorig:*Hand",
        "mixamorig:*UpLeg;mixamorig:*Leg;mixamorig:*Foot",
    ),
    "ready player me": _layout(
        READY_PLAYER_ME,
        ("Left", "Right"),
        50.0,
        PLAIN,
        "Spine;Spine1;Spine2",
        "Neck;Head",
        "*Arm;*ForeArm;*Hand",
        "*UpLeg;*Leg;*Foot",
    ),
    "unreal 4": _layout(
        UNREAL_4,
        ("l", "r"),
        50.0,
        FBX,
        "spine_01;spine_02;spine_03",
        "neck_01;head",
        "upperarm_*;lowerarm_*;hand_*",
        "thigh_*;calf_*;foot_*",
    ),
    "unreal 5": _layout(
        UNREAL_5,
        ("l", "r"),
        50.0,
        FBX,
        "spine_01;spine_02;spine_03;spine_04;spine_05",
        "neck_01;neck_02;head",
        "upperarm_*;lowerarm_*;hand_*",
        "thigh_*;calf_*;foot_*",
    ),
    "vroid": _layout(
        VROID,
        ("L", "R"),
        0.0,
        PLAIN,
        "J_Bip_C_Spine;J_Bip_C_Chest;J_Bip_C_UpperChest",
        "J_Bip_C_Neck;J_Bip_C_Head",
        "J_Bip_*_UpperArm;J_Bip_*_LowerArm;J_Bip_*_Hand",
        "J_Bip_*_UpperLeg;J_Bip_*_LowerLeg;J_Bip_*_Foot",
    ),
    "biped": _layout(
        BIPED,
        ("L", "R"),
        45.0,
        FBX,
        "Bip001 Spine1;Bip001 Spine2",
        "Bip001 Head",
        "Bip001 * UpperArm;Bip001 * Forearm;Bip001 * Hand",
        "Bip001 * Thigh;Bip001 * Calf;Bip001 * Foot",
    ),
    "genesis 8": _layout(
        GENESIS_8,
        ("l", "r"),
        45.0,
        FBX,
        "abdomenLower;abdomenUpper;chestLower;chestUpper",
        "neckLower;neckUpper;head",
        "*ShldrBend;*ShldrTwist;*ForearmBend;*ForearmTwist;*Hand",
        "*ThighBend;*ThighTwist;*Shin;*Foot",
    ),
    "genesis 9": _layout(
        GENESIS_9,
        ("l", "r"),
        45.0,
        FBX,
        "spine1;spine2;spine3;spine4",
        "neck1;neck2;head",
        "*_upperarm;*_forearm;*_hand",
        "*_thigh;*_shin;*_foot",
    ),
    "makehuman": _layout(
        MAKEHUMAN,
        ("L", "R"),
        45.0,
        PLAIN,
        "spine05;spine04;spine03;spine02;spine01",
        "neck02;neck03;head",
        "upperarm01.*;upperarm02.*;lowerarm01.*;lowerarm02.*;wrist.*",
        "upperleg01.*;upperleg02.*;lowerleg01.*;lowerleg02.*;foot.*",
    ),
    "auto-rig pro": _layout(
        AUTO_RIG_PRO,
        ("l", "r"),
        45.0,
        PLAIN,
        "spine_01.x;spine_02.x;spine_03.x",
        "neck.x;head.x",
        "arm_stretch.*;forearm_stretch.*;hand.*",
        "thigh_stretch.*;leg_stretch.*;foot.*",
    ),
    "mmd": _layout(
        MMD,
        ("左", "右"),
        37.0,
        PLAIN,
        "上半身;上半身2",
        "首;頭",
        "*腕;*腕捩;*ひじ;*手捩;*手首",
        "*足;*ひざ;*足首",
    ),
    "mmd tools": _layout(
        MMD_TOOLS,
        ("L", "R"),
        37.0,
        PLAIN,
        "上半身;上半身2",
        "首;頭",
        "腕.*;腕捩.*;ひじ.*;手捩.*;手首.*",
        "足.*;ひざ.*;足首.*",
    ),
    "character creator": _layout(
        CHARACTER_CREATOR,
        ("L", "R"),
        45.0,
        FBX,
        "CC_Base_Waist;CC_Base_Spine01;CC_Base_Spine02",
        "CC_Base_NeckTwist01;CC_Base_NeckTwist02;CC_Base_Head",
        "CC_Base_*_Upperarm;CC_Base_*_Forearm;CC_Base_*_Hand",
        "CC_Base_*_Thigh;CC_Base_*_Calf;CC_Base_*_Foot",
    ),
    "second life": _layout(
        SECOND_LIFE,
        ("Left", "Right"),
        0.0,
        PLAIN,
        "mTorso;mChest",
        "mNeck;mHead",
        "mShoulder*;mElbow*;mWrist*",
        "mHip*;mKnee*;mAnkle*",
    ),
}

Axis = Callable[[str, int], Vector]
"""The direction of a bone, from its name and side, in the world."""

AXES: dict[str, Axis] = {
    "x": lambda _, side: Vector((-1.0 if side < 0 else 1.0, 0.0, 0.0)),
    "any": lambda name, _: Vector(
        (sin(len(name) + ord(name[-1])), cos(ord(name[0])), sin(7.0 * len(name)))
    ).normalized(),
}
"""How importers leave bones: along an axis, or anywhere."""


def make_character(name: str, axis: str = "x", arm: float | None = None) -> bpy.types.Object:
    """Make the armature of a program, as an importer leaves it.

    Args:
        name: The layout.
        axis: The direction of the bones, one of `AXES`.
        arm: How far the arms hang down, in degrees, if not as usual.
    """
    layout = LAYOUTS[name]
    angle = radians(layout.arm if arm is None else arm)
    unit, is_y_up = layout.space
    world = Matrix.Scale(1.0 / unit, 4)
    if is_y_up:
        world = Matrix.Rotation(radians(90.0), 4, "X") @ world
    back = world.inverted()
    rig = link(bpy.data.objects.new(name, bpy.data.armatures.new(name)))
    rig.matrix_world = world
    activate(rig)
    bpy.ops.object.mode_set(mode="EDIT")
    bones = rig.data.edit_bones
    for bone_name, parent, side, place in _bones(layout, angle):
        bone = bones.new(bone_name)
        bone.head = back @ place
        bone.tail = bone.head + back.to_3x3() @ (AXES[axis](bone_name, side) / unit)
        bone.parent = bones[parent] if parent else None
        bone.use_deform = parent != ""
    bpy.ops.object.mode_set(mode="OBJECT")
    return rig


def _bones(layout: Layout, angle: float) -> list[tuple[str, str, int, Vector]]:
    """Return name, parent, side and head of each bone, parents first."""
    found: list[tuple[str, str, int, Vector]] = []
    above: list[list[tuple[str, Vector]]] = []  # Of each level, for left and right.
    for line in layout.text.strip("\n").split("\n"):
        name, _, where = line.strip().partition(" @")
        depth = len(line) - len(line.lstrip())
        del above[depth:]
        pair: list[tuple[str, Vector]] = []
        for i, sign in enumerate((1, -1)):
            side_name = name.replace("*", layout.sides[i])
            parent, place = above[-1][i] if above else ("", Vector())
            side = sign if "*" in name else 0
            place = _place(where, side or 1, angle) if where else place + _beyond(found, parent)
            pair.append((side_name, place))
            if i == 0 or side:
                found.append((side_name, parent, side, place))
        above.append(pair)
    return found


def _beyond(found: list[tuple[str, str, int, Vector]], parent: str) -> Vector:
    """Return the way on for a finger or a toe: that of the bone before it, 2.5 centimetres long."""
    heads = {name: (above, place) for name, above, _, place in found}
    above, place = heads[parent]
    way = place - heads[above][1]
    if way.length < 1e-6:
        return Vector((0.0, -0.025, 0.0))
    return way.normalized() * 0.025


def _place(where: str, side: int, angle: float) -> Vector:
    start, _, rest = where.partition("~")
    place = _joint(start, side, angle)
    if rest:
        end, _, share = rest.partition("*")
        place = place.lerp(_joint(end, side, angle), float(share))
    return place


def _joint(name: str, side: int, angle: float) -> Vector:
    if name in TRUNK:
        return Vector(TRUNK[name])
    place = Vector(SIDE[name])
    if name in ARM[2:]:
        shoulder = Vector(SIDE["arm"])
        place = shoulder + Matrix.Rotation(angle, 3, "Y") @ (place - shoulder)
    place.x *= side
    return place
