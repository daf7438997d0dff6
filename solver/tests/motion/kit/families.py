"""Skeletons as other programs name, parent and orient them, with the proportions of one human.

The names and parents are those of the programs; the joints are placed by us. A skeleton is written
as indented lines, children below their parents. `*` stands for a side, for which the bones occur
twice; `$` stands for it as a word. `@` says where a bone is: at a joint, between two
(`thigh~shin*0.5`), or else at its parent or a little beyond it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from math import cos, radians, sin
from typing import NamedTuple

from more_skeletons import (
    ASF,
    CLOUDRIG,
    GODOT,
    GTA,
    JAPANESE,
    META,
    ROBOT_KYLE,
    SOULS,
    SOURCE_2,
    SYNTY,
    THEIA,
    UNITY,
)

from fabrik_solver.core.vectors import Vec, add, length, mix, scaled, sub

TRUNK: dict[str, Vec] = {
    "ground": (0.0, 0.0, 0.0),
    "pelvis": (0.0, 0.0, 0.98),
    "spine": (0.0, -0.01, 1.08),
    "chest": (0.0, 0.0, 1.28),
    "neck": (0.0, 0.02, 1.50),
    "head": (0.0, 0.0, 1.60),
    "crown": (0.0, 0.0, 1.80),
}
SIDE: dict[str, Vec] = {
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


VALVE = """
ValveBiped.Bip01_Pelvis @pelvis
 ValveBiped.Bip01_Spine @spine
  ValveBiped.Bip01_Spine1 @spine~chest*0.4
   ValveBiped.Bip01_Spine2 @spine~chest*0.8
    ValveBiped.Bip01_Spine4 @chest
     ValveBiped.Bip01_Neck1 @neck
      ValveBiped.Bip01_Head1 @head
       ValveBiped.forward @crown
     ValveBiped.Bip01_*_Clavicle @clavicle
      ValveBiped.Bip01_*_UpperArm @arm
       ValveBiped.Bip01_*_Forearm @elbow
        ValveBiped.Bip01_*_Hand @hand
         ValveBiped.Bip01_*_Finger0 @thumb
          ValveBiped.Bip01_*_Finger01
           ValveBiped.Bip01_*_Finger02
         ValveBiped.Bip01_*_Finger1 @index
          ValveBiped.Bip01_*_Finger11
           ValveBiped.Bip01_*_Finger12
        ValveBiped.Bip01_*_Ulna @elbow~hand*0.5
        ValveBiped.Bip01_*_Wrist @elbow~hand*0.95
       ValveBiped.Bip01_*_Bicep @arm~elbow*0.5
      ValveBiped.Bip01_*_Trapezius @clavicle
 ValveBiped.Bip01_*_Thigh @thigh
  ValveBiped.Bip01_*_Calf @shin
   ValveBiped.Bip01_*_Foot @foot
    ValveBiped.Bip01_*_Toe0 @toe
"""

SMPL = """
Pelvis @pelvis
 *_Hip @thigh
  *_Knee @shin
   *_Ankle @foot
    *_Foot @toe
 Spine1 @spine
  Spine2 @spine~chest*0.5
   Spine3 @chest
    Neck @neck
     Head @head
    *_Collar @clavicle
     *_Shoulder @arm
      *_Elbow @elbow
       *_Wrist @hand
        *_Hand @index
"""

SMPL_X = """
pelvis @pelvis
 *_hip @thigh
  *_knee @shin
   *_ankle @foot
    *_foot @toe
 spine1 @spine
  spine2 @spine~chest*0.5
   spine3 @chest
    neck @neck
     head @head
      jaw @head
      *_eye_smplhf @eye
    *_collar @clavicle
     *_shoulder @arm
      *_elbow @elbow
       *_wrist @hand
        *_index1 @index
         *_index2
          *_index3
        *_thumb1 @thumb
         *_thumb2
          *_thumb3
"""

ROBLOX = """
Root @ground
 HumanoidRootNode @pelvis
  LowerTorso @pelvis
   UpperTorso @chest
    Head @head
    *UpperArm @arm
     *LowerArm @elbow
      *Hand @hand
   *UpperLeg @thigh
    *LowerLeg @shin
     *Foot @foot
"""

XSENS = """
Pelvis @pelvis
 L5 @spine
  L3 @spine~chest*0.3
   T12 @spine~chest*0.6
    T8 @chest
     Neck @neck
      Head @head
     *Shoulder @clavicle
      *UpperArm @arm
       *ForeArm @elbow
        *Hand @hand
 *UpperLeg @thigh
  *LowerLeg @shin
   *Foot @foot
    *Toe @toe
"""

XSENS_BVH = """
Hips @pelvis
 Chest @spine
  Chest2 @spine~chest*0.3
   Chest3 @spine~chest*0.6
    Chest4 @chest
     Neck @neck
      Head @head
     *Collar @clavicle
      *Shoulder @arm
       *Elbow @elbow
        *Wrist @hand
 *Hip @thigh
  *Knee @shin
   *Ankle @foot
    *Toe @toe
"""

ROKOKO = """
Hips @pelvis
 Spine1 @spine
  Spine2 @spine~chest*0.3
   Spine3 @spine~chest*0.6
    Spine4 @chest
     Neck @neck
      Head @head
     *Shoulder @clavicle
      *Arm @arm
       *ForeArm @elbow
        *Hand @hand
         *Finger1Metacarpal @thumb
          *Finger1Proximal
           *Finger1Distal
         *Finger2Metacarpal @hand~index*0.2
          *Finger2Proximal @index
           *Finger2Medial
            *Finger2Distal
 *Thigh @thigh
  *Shin @shin
   *Foot @foot
    *Toe @toe
     *ToeTip @toe end
"""

PERCEPTION_NEURON = """
Robot_Hips @pelvis
 Robot_*UpLeg @thigh
  Robot_*Leg @shin
   Robot_*Foot @foot
 Robot_Spine @spine
  Robot_Spine1 @spine~chest*0.5
   Robot_Spine2 @chest
    Robot_Neck @neck
     Robot_Neck1 @neck~head*0.5
      Robot_Head @head
    Robot_*Shoulder @clavicle
     Robot_*Arm @arm
      Robot_*ForeArm @elbow
       Robot_*Hand @hand
        Robot_*HandThumb1 @thumb
         Robot_*HandThumb2
          Robot_*HandThumb3
        Robot_*InHandIndex @hand~index*0.2
         Robot_*HandIndex1 @index
          Robot_*HandIndex2
           Robot_*HandIndex3
"""

OPTITRACK = """
Skeleton_Hip @pelvis
 Skeleton_Ab @spine
  Skeleton_Chest @chest
   Skeleton_Neck @neck
    Skeleton_Head @head
   Skeleton_*Shoulder @clavicle
    Skeleton_*UArm @arm
     Skeleton_*FArm @elbow
      Skeleton_*Hand @hand
 Skeleton_*Thigh @thigh
  Skeleton_*Shin @shin
   Skeleton_*Foot @foot
    Skeleton_*Toe @toe
"""

CAT = """
BaseHumanPelvis @pelvis
 BaseHuman*Leg1 @thigh
  BaseHuman*Leg2 @shin
   BaseHuman*LegAnkle @foot
    BaseHuman*LegDigit11 @toe
 BaseHumanSpine1 @spine
  BaseHumanSpine2 @spine~chest*0.5
   BaseHumanRibcage @chest
    BaseHumanNeck1 @neck
     BaseHumanHead @head
    BaseHuman*ArmCollarbone @clavicle
     BaseHuman*Arm1 @arm
      BaseHuman*Arm2 @elbow
       BaseHuman*ArmPalm @hand
        BaseHuman*ArmDigit11 @thumb
         BaseHuman*ArmDigit12
        BaseHuman*ArmDigit21 @index
         BaseHuman*ArmDigit22
          BaseHuman*ArmDigit23
"""

LAFAN = """
Hips @pelvis
 *UpLeg @thigh
  *Leg @shin
   *Foot @foot
    *Toe @toe
 Spine @spine
  Spine1 @spine~chest*0.5
   Spine2 @chest
    Neck @neck
     Head @head
    *Shoulder @clavicle
     *Arm @arm
      *ForeArm @elbow
       *Hand @hand
"""

BANDAI = """
joint_Root @ground
 Hips @pelvis
  Spine @spine
   Chest @chest
    Neck @neck
     Head @head
    Shoulder_* @clavicle
     UpperArm_* @arm
      LowerArm_* @elbow
       Hand_* @hand
  UpperLeg_* @thigh
   LowerLeg_* @shin
    Foot_* @foot
     Toes_* @toe
"""

CMU = """
Hips @pelvis
 *HipJoint @pelvis
  $UpLeg @thigh
   $Leg @shin
    $Foot @foot
     $ToeBase @toe
 LowerBack @pelvis
  Spine @spine
   Spine1 @chest
    Neck @chest~neck*0.6
     Neck1 @neck
      Head @head
    $Shoulder @chest~neck*0.6
     $Arm @arm
      $ForeArm @elbow
       $Hand @hand
        $FingerBase @hand
         $HandIndex1 @index
        *Thumb @hand
"""
"""`$` stands for the side as a word."""

HUMAN_IK = """
Character1_Reference @ground
 Character1_Hips @pelvis
  Character1_*UpLeg @thigh
   Character1_*UpLegRoll @thigh~shin*0.5
   Character1_*Leg @shin
    Character1_*LegRoll @shin~foot*0.5
    Character1_*Foot @foot
     Character1_*ToeBase @toe
  Character1_Spine @spine
   Character1_Spine1 @spine~chest*0.5
    Character1_Spine2 @chest
     Character1_*Shoulder @clavicle
      Character1_*Arm @arm
       Character1_*ArmRoll @arm~elbow*0.5
       Character1_*ForeArm @elbow
        Character1_*ForeArmRoll @elbow~hand*0.5
        Character1_*Hand @hand
         Character1_*HandThumb1 @thumb
          Character1_*HandThumb2
         Character1_*HandIndex1 @index
          Character1_*HandIndex2
           Character1_*HandIndex3
     Character1_Neck @neck
      Character1_Head @head
"""

KINECT = """
SpineBase @pelvis
 SpineMid @spine
  SpineShoulder @chest
   Neck @neck
    Head @head
   Shoulder* @arm
    Elbow* @elbow
     Wrist* @hand
      Hand* @index
       HandTip*
 Hip* @thigh
  Knee* @shin
   Ankle* @foot
    Foot* @toe
"""

AZURE_KINECT = """
PELVIS @pelvis
 SPINE_NAVEL @spine
  SPINE_CHEST @chest
   NECK @neck
    HEAD @head
     NOSE @head
     EYE_* @eye
     EAR_* @eye
   CLAVICLE_* @clavicle
    SHOULDER_* @arm
     ELBOW_* @elbow
      WRIST_* @hand
       HAND_* @index
        HANDTIP_*
       THUMB_* @thumb
 HIP_* @thigh
  KNEE_* @shin
   ANKLE_* @foot
    FOOT_* @toe
"""

ARKIT = """
root @ground
 hips_joint @pelvis
  *_upLeg_joint @thigh
   *_leg_joint @shin
    *_foot_joint @foot
     *_toes_joint @toe
      *_toesEnd_joint @toe end
  spine_1_joint @pelvis~spine*0.5
   spine_2_joint @spine
    spine_3_joint @spine~chest*0.3
     spine_4_joint @spine~chest*0.6
      spine_5_joint @chest
       spine_6_joint @chest~neck*0.3
        spine_7_joint @chest~neck*0.6
         neck_1_joint @neck
          neck_2_joint @neck~head*0.5
           head_joint @head
            jaw_joint @head
             chin_joint @head
            *_eye_joint @eye
         *_shoulder_1_joint @clavicle
          *_arm_joint @arm
           *_forearm_joint @elbow
            *_hand_joint @hand
             *_handThumbStart_joint @thumb
              *_handThumb_1_joint
             *_handIndexStart_joint @hand~index*0.2
              *_handIndex_1_joint @index
               *_handIndex_2_joint
                *_handIndex_3_joint
"""

ADVANCED_SKELETON = """
Root_M @pelvis
 Hip_* @thigh
  HipPart1_* @thigh~shin*0.33
   HipPart2_* @thigh~shin*0.67
    Knee_* @shin
     Ankle_* @foot
      Toes_* @toe
       ToesEnd_* @toe end
 Spine1_M @spine
  Chest_M @chest
   Neck_M @neck
    Head_M @head
     Jaw_M @head
     Eye_* @eye
     HeadEnd_M @crown
   Scapula_* @clavicle
    Shoulder_* @arm
     ShoulderPart1_* @arm~elbow*0.33
      ShoulderPart2_* @arm~elbow*0.67
       Elbow_* @elbow
        ElbowPart1_* @elbow~hand*0.33
         ElbowPart2_* @elbow~hand*0.67
          Wrist_* @hand
           ThumbFinger1_* @thumb
            ThumbFinger2_*
           IndexFinger1_* @index
            IndexFinger2_*
             IndexFinger3_*
"""

POSER = """
hip @pelvis
 abdomen @spine
  chest @chest
   neck @neck
    head @head
     *Eye @eye
   *Collar @clavicle
    *Shldr @arm
     *ForeArm @elbow
      *Hand @hand
       *Thumb1 @thumb
        *Thumb2
       *Index1 @index
        *Index2
         *Index3
 *Buttock @pelvis~thigh*0.5
  *Thigh @thigh
   *Shin @shin
    *Foot @foot
     *Toe @toe
"""

CARNEGIE_POSER = """
hip @pelvis
 abdomen @spine
  chest @chest
   neck @neck
    head @head
   *collar @clavicle
    *shoulder @arm
     *elbow @elbow
      *hand @hand
 *buttock @pelvis~thigh*0.5
  *hip @thigh
   *knee @shin
    *foot @foot
     *toe @toe
"""

RIGIFY = """
root @ground
 DEF-spine @pelvis
  DEF-pelvis.* @pelvis
  DEF-thigh.* @thigh
   DEF-thigh.*.001 @thigh~shin*0.5
    DEF-shin.* @shin
     DEF-shin.*.001 @shin~foot*0.5
      DEF-foot.* @foot
       DEF-toe.* @toe
  DEF-spine.001 @spine
   DEF-spine.002 @spine~chest*0.5
    DEF-spine.003 @chest
     DEF-breast.* @breast
     DEF-shoulder.* @clavicle
      DEF-upper_arm.* @arm
       DEF-upper_arm.*.001 @arm~elbow*0.5
        DEF-forearm.* @elbow
         DEF-forearm.*.001 @elbow~hand*0.5
          DEF-hand.* @hand
           DEF-palm.01.* @hand~index*0.2
            DEF-f_index.01.* @index
             DEF-f_index.02.*
              DEF-f_index.03.*
     DEF-spine.004 @neck
      DEF-spine.005 @neck~head*0.5
       DEF-spine.006 @head
"""

KAYKIT = """
root @ground
 hips @pelvis
  spine @spine
   chest @chest
    upperarm.* @arm
     lowerarm.* @elbow
      wrist.* @hand
       hand.* @index
        handslot.*
    head @head
  upperleg.* @thigh
   lowerleg.* @shin
    foot.* @foot
     toes.* @toe
 kneeIK.* @toe
 control-heel-roll.* @heel
  IK-foot.* @foot
"""

DEEP_MOTION = """
root @ground
 hips_JNT @pelvis
  spine_JNT @spine
   spine1_JNT @spine~chest*0.5
    spine2_JNT @chest
     neck_JNT @neck
      head_JNT @head
     *_shoulder_JNT @clavicle
      *_arm_JNT @arm
       *_forearm_JNT @elbow
        *_hand_JNT @hand
         *_handThumb1_JNT @thumb
          *_handThumb2_JNT
         *_handIndex1_JNT @index
          *_handIndex2_JNT
           *_handIndex3_JNT
  *_upleg_JNT @thigh
   *_leg_JNT @shin
    *_foot_JNT @foot
     *_toebase_JNT @toe
"""

CASCADEUR = """
pelvis @pelvis
 stomach @spine
  chest @chest
   neck @neck
    head @head
   clavicle_* @clavicle
    arm_* @arm
     forearm_* @elbow
      hand_* @hand
       thumb_1_* @thumb
        thumb_2_*
       index_1_* @index
        index_2_*
         index_3_*
 thigh_* @thigh
  calf_* @shin
   foot_* @foot
    toe_* @toe
"""

QUATERNIUS = """
Bone @ground
 Foot.* @foot
 Body @pelvis
  Hips @pelvis
   Abdomen @spine
    Torso @chest
     Neck @neck
      Head @head
     Shoulder.* @clavicle
      UpperArm.* @arm
       LowerArm.* @elbow
        Palm.* @hand
         Middle1.* @middle
          Middle2.*
   UpperLeg.* @thigh
    LowerLeg.* @shin
 PoleTarget.* @toe
"""
"""Its feet are no children of its legs."""

MGEAR = """
world_ctl @ground
 spine_C0_0_jnt @pelvis
  spine_C0_1_jnt @spine
   spine_C0_2_jnt @spine~chest*0.5
    spine_C0_3_jnt @chest
     neck_C0_0_jnt @neck
      neck_C0_1_jnt @neck~head*0.5
       neck_C0_head_jnt @head
     shoulder_*0_shoulder_jnt @clavicle
      arm_*0_0_jnt @arm
       arm_*0_1_jnt @arm~elbow*0.33
        arm_*0_2_jnt @arm~elbow*0.66
         arm_*0_3_jnt @elbow
          arm_*0_4_jnt @elbow~hand*0.33
           arm_*0_5_jnt @elbow~hand*0.66
            arm_*0_end_jnt @hand
             finger_*0_0_jnt @index
              finger_*0_1_jnt
               finger_*0_2_jnt
             thumb_*0_0_jnt @thumb
              thumb_*0_1_jnt
  leg_*0_0_jnt @thigh
   leg_*0_1_jnt @thigh~shin*0.33
    leg_*0_2_jnt @thigh~shin*0.66
     leg_*0_3_jnt @shin
      leg_*0_4_jnt @shin~foot*0.33
       leg_*0_5_jnt @shin~foot*0.66
        leg_*0_end_jnt @foot
         foot_*0_0_jnt @toe
          foot_*0_1_jnt @toe end
"""

CREATION_ENGINE = """
NPC Root [Root] @ground
 NPC COM [COM ] @pelvis
  NPC Pelvis [Pelv] @pelvis
   NPC * Thigh [*Thg] @thigh
    NPC * Calf [*Clf] @shin
     NPC * Foot [*ft ] @foot
      NPC * Toe0 [*Toe] @toe
  NPC Spine [Spn0] @spine
   NPC Spine1 [Spn1] @spine~chest*0.5
    NPC Spine2 [Spn2] @chest
     NPC Neck [Neck] @neck
      NPC Head [Head] @head
     NPC * Clavicle [*Clv] @clavicle
      NPC * UpperArm [*Uar] @arm
       NPC * UpperarmTwist1 [*Ut1] @arm~elbow*0.3
        NPC * UpperarmTwist2 [*Ut2] @arm~elbow*0.6
       NPC * Forearm [*Lar] @elbow
        NPC * ForearmTwist1 [*Lt1] @elbow~hand*0.3
         NPC * ForearmTwist2 [*Lt2] @elbow~hand*0.6
        NPC * Hand [*Hnd] @hand
         NPC * Finger00 [*F00] @thumb
          NPC * Finger01 [*F01]
         NPC * Finger10 [*F10] @index
          NPC * Finger11 [*F11]
         NPC * Finger20 [*F20] @middle
          NPC * Finger21 [*F21]
     QUIVER @chest
   NPC SkirtFBone01 [F1] @pelvis
    NPC SkirtFBone02 [F2] @spine~pelvis*0.5
   Skirt*Bone01 @thigh
    Skirt*Bone02 @thigh~shin*0.3
     Skirt*Bone03 @thigh~shin*0.6
"""

CALL_OF_DUTY = """
tag_origin @ground
 j_mainroot @pelvis
  j_spinelower @spine
   j_spineupper @spine~chest*0.5
    j_spine4 @chest
     j_neck @neck
      j_head @head
     j_clavicle_* @clavicle
      j_shoulder_* @arm
       j_elbow_* @elbow
        j_wrist_* @hand
         j_thumb_*_1 @thumb
          j_thumb_*_2
         j_index_*_1 @index
          j_index_*_2
         j_mid_*_1 @middle
          j_mid_*_2
  j_hip_* @thigh
   j_knee_* @shin
    j_ankle_* @foot
     j_ball_* @toe
"""


WORDS = ("Left", "Right")


class Layout(NamedTuple):
    """The skeleton of a family.

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
        for side, word in zip(sides, WORDS, strict=True):
            *bones, end = text.replace("*", side).replace("$", word).split(";")
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

L_R = ("L", "R")

MORE: dict[str, Layout] = {
    "valve": _layout(
        VALVE,
        L_R,
        45.0,
        PLAIN,
        "ValveBiped.Bip01_Spine;ValveBiped.Bip01_Spine1;ValveBiped.Bip01_Spine2;ValveBiped.Bip01_Spine4",
        "ValveBiped.Bip01_Neck1;ValveBiped.Bip01_Head1",
        "ValveBiped.Bip01_*_UpperArm;ValveBiped.Bip01_*_Forearm;ValveBiped.Bip01_*_Hand",
        "ValveBiped.Bip01_*_Thigh;ValveBiped.Bip01_*_Calf;ValveBiped.Bip01_*_Foot",
    ),
    "smpl": _layout(
        SMPL,
        L_R,
        0.0,
        PLAIN,
        "Spine1;Spine2;Spine3",
        "Neck;Head",
        "*_Shoulder;*_Elbow;*_Wrist",
        "*_Hip;*_Knee;*_Ankle",
    ),
    "smpl-x": _layout(
        SMPL_X,
        ("left", "right"),
        0.0,
        FBX,
        "spine1;spine2;spine3",
        "neck;head",
        "*_shoulder;*_elbow;*_wrist",
        "*_hip;*_knee;*_ankle",
    ),
    "roblox": _layout(
        ROBLOX,
        WORDS,
        60.0,
        FBX,
        "UpperTorso",
        "Head",
        "*UpperArm;*LowerArm;*Hand",
        "*UpperLeg;*LowerLeg;*Foot",
    ),
    "xsens": _layout(
        XSENS,
        WORDS,
        0.0,
        FBX,
        "L5;L3;T12;T8",
        "Neck;Head",
        "*UpperArm;*ForeArm;*Hand",
        "*UpperLeg;*LowerLeg;*Foot",
    ),
    "xsens bvh": _layout(
        XSENS_BVH,
        WORDS,
        0.0,
        FBX,
        "Chest;Chest2;Chest3;Chest4",
        "Neck;Head",
        "*Shoulder;*Elbow;*Wrist",
        "*Hip;*Knee;*Ankle",
    ),
    "rokoko": _layout(
        ROKOKO,
        WORDS,
        0.0,
        FBX,
        "Spine1;Spine2;Spine3;Spine4",
        "Neck;Head",
        "*Arm;*ForeArm;*Hand",
        "*Thigh;*Shin;*Foot",
    ),
    "perception neuron": _layout(
        PERCEPTION_NEURON,
        WORDS,
        0.0,
        FBX,
        "Robot_Spine;Robot_Spine1;Robot_Spine2",
        "Robot_Neck;Robot_Neck1;Robot_Head",
        "Robot_*Arm;Robot_*ForeArm;Robot_*Hand",
        "Robot_*UpLeg;Robot_*Leg;Robot_*Foot",
    ),
    "optitrack": _layout(
        OPTITRACK,
        L_R,
        0.0,
        FBX,
        "Skeleton_Ab;Skeleton_Chest",
        "Skeleton_Neck;Skeleton_Head",
        "Skeleton_*UArm;Skeleton_*FArm;Skeleton_*Hand",
        "Skeleton_*Thigh;Skeleton_*Shin;Skeleton_*Foot",
    ),
    "cat": _layout(
        CAT,
        L_R,
        45.0,
        FBX,
        "BaseHumanSpine1;BaseHumanSpine2;BaseHumanRibcage",
        "BaseHumanNeck1;BaseHumanHead",
        "BaseHuman*Arm1;BaseHuman*Arm2;BaseHuman*ArmPalm",
        "BaseHuman*Leg1;BaseHuman*Leg2;BaseHuman*LegAnkle",
    ),
    "lafan": _layout(
        LAFAN,
        WORDS,
        0.0,
        FBX,
        "Spine;Spine1;Spine2",
        "Neck;Head",
        "*Arm;*ForeArm;*Hand",
        "*UpLeg;*Leg;*Foot",
    ),
    "bandai namco": _layout(
        BANDAI,
        L_R,
        0.0,
        FBX,
        "Spine;Chest",
        "Neck;Head",
        "UpperArm_*;LowerArm_*;Hand_*",
        "UpperLeg_*;LowerLeg_*;Foot_*",
    ),
    "cmu": _layout(
        CMU,
        L_R,
        0.0,
        FBX,
        "LowerBack;Spine;Spine1",
        "Neck;Neck1;Head",
        "$Arm;$ForeArm;$Hand",
        "$UpLeg;$Leg;$Foot",
    ),
    "human ik": _layout(
        HUMAN_IK,
        WORDS,
        0.0,
        FBX,
        "Character1_Spine;Character1_Spine1;Character1_Spine2",
        "Character1_Neck;Character1_Head",
        "Character1_*Arm;Character1_*ForeArm;Character1_*Hand",
        "Character1_*UpLeg;Character1_*Leg;Character1_*Foot",
    ),
    "kinect": _layout(
        KINECT,
        WORDS,
        0.0,
        PLAIN,
        "SpineMid;SpineShoulder",
        "Neck;Head",
        "Shoulder*;Elbow*;Wrist*",
        "Hip*;Knee*;Ankle*",
    ),
    "azure kinect": _layout(
        AZURE_KINECT,
        ("LEFT", "RIGHT"),
        0.0,
        PLAIN,
        "SPINE_NAVEL;SPINE_CHEST",
        "NECK;HEAD",
        "SHOULDER_*;ELBOW_*;WRIST_*",
        "HIP_*;KNEE_*;ANKLE_*",
    ),
    "arkit": _layout(
        ARKIT,
        ("left", "right"),
        0.0,
        PLAIN,
        "spine_1_joint;spine_2_joint;spine_3_joint;spine_4_joint;spine_5_joint;spine_6_joint;spine_7_joint",
        "neck_1_joint;neck_2_joint;head_joint",
        "*_arm_joint;*_forearm_joint;*_hand_joint",
        "*_upLeg_joint;*_leg_joint;*_foot_joint",
    ),
    "advanced skeleton": _layout(
        ADVANCED_SKELETON,
        L_R,
        0.0,
        FBX,
        "Spine1_M;Chest_M",
        "Neck_M;Head_M",
        "Shoulder_*;ShoulderPart1_*;ShoulderPart2_*;Elbow_*;ElbowPart1_*;ElbowPart2_*;Wrist_*",
        "Hip_*;HipPart1_*;HipPart2_*;Knee_*;Ankle_*",
    ),
    "poser": _layout(
        POSER,
        ("l", "r"),
        0.0,
        FBX,
        "abdomen;chest",
        "neck;head",
        "*Shldr;*ForeArm;*Hand",
        "*Thigh;*Shin;*Foot",
    ),
    "cgspeed": _layout(
        CARNEGIE_POSER,
        ("l", "r"),
        0.0,
        FBX,
        "abdomen;chest",
        "neck;head",
        "*shoulder;*elbow;*hand",
        "*hip;*knee;*foot",
    ),
    "rigify": _layout(
        RIGIFY,
        L_R,
        45.0,
        PLAIN,
        "DEF-spine.001;DEF-spine.002;DEF-spine.003",
        "DEF-spine.004;DEF-spine.005;DEF-spine.006",
        "DEF-upper_arm.*;DEF-upper_arm.*.001;DEF-forearm.*;DEF-forearm.*.001;DEF-hand.*",
        "DEF-thigh.*;DEF-thigh.*.001;DEF-shin.*;DEF-shin.*.001;DEF-foot.*",
    ),
    "kaykit": _layout(
        KAYKIT,
        ("l", "r"),
        0.0,
        PLAIN,
        "spine;chest",
        "head",
        "upperarm.*;lowerarm.*;wrist.*",
        "upperleg.*;lowerleg.*;foot.*",
    ),
    "deep motion": _layout(
        DEEP_MOTION,
        ("l", "r"),
        0.0,
        FBX,
        "spine_JNT;spine1_JNT;spine2_JNT",
        "neck_JNT;head_JNT",
        "*_arm_JNT;*_forearm_JNT;*_hand_JNT",
        "*_upleg_JNT;*_leg_JNT;*_foot_JNT",
    ),
    "cascadeur": _layout(
        CASCADEUR,
        ("l", "r"),
        45.0,
        FBX,
        "stomach;chest",
        "neck;head",
        "arm_*;forearm_*;hand_*",
        "thigh_*;calf_*;foot_*",
    ),
    "quaternius": _layout(
        QUATERNIUS,
        L_R,
        45.0,
        PLAIN,
        "Abdomen;Torso",
        "Neck;Head",
        "UpperArm.*;LowerArm.*;Palm.*",
        "UpperLeg.*;LowerLeg.*;",
    ),
    "mgear": _layout(
        MGEAR,
        L_R,
        0.0,
        FBX,
        "spine_C0_1_jnt;spine_C0_2_jnt;spine_C0_3_jnt",
        "neck_C0_0_jnt;neck_C0_1_jnt;neck_C0_head_jnt",
        "arm_*0_0_jnt;arm_*0_1_jnt;arm_*0_2_jnt;arm_*0_3_jnt;arm_*0_4_jnt;arm_*0_5_jnt;arm_*0_end_jnt",
        "leg_*0_0_jnt;leg_*0_1_jnt;leg_*0_2_jnt;leg_*0_3_jnt;leg_*0_4_jnt;leg_*0_5_jnt;leg_*0_end_jnt",
    ),
    "creation engine": _layout(
        CREATION_ENGINE,
        L_R,
        0.0,
        PLAIN,
        "NPC Spine [Spn0];NPC Spine1 [Spn1];NPC Spine2 [Spn2]",
        "NPC Neck [Neck];NPC Head [Head]",
        "NPC * UpperArm [*Uar];NPC * Forearm [*Lar];NPC * Hand [*Hnd]",
        "NPC * Thigh [*Thg];NPC * Calf [*Clf];NPC * Foot [*ft ]",
    ),
    "call of duty": _layout(
        CALL_OF_DUTY,
        ("le", "ri"),
        0.0,
        PLAIN,
        "j_spinelower;j_spineupper;j_spine4",
        "j_neck;j_head",
        "j_shoulder_*;j_elbow_*;j_wrist_*",
        "j_hip_*;j_knee_*;j_ankle_*",
    ),
    "godot": _layout(
        GODOT,
        WORDS,
        0.0,
        PLAIN,
        "Spine;Chest;UpperChest",
        "Neck;Head",
        "*UpperArm;*LowerArm;*Hand",
        "*UpperLeg;*LowerLeg;*Foot",
    ),
    "unity": _layout(
        UNITY,
        WORDS,
        45.0,
        FBX,
        "Spine;Chest;Upper Chest",
        "Neck;Head",
        "* Upper Arm;* Lower Arm;* Hand",
        "* Upper Leg;* Lower Leg;* Foot",
    ),
    "robot kyle": _layout(
        ROBOT_KYLE,
        WORDS,
        45.0,
        FBX,
        "Spine;Ribs",
        "Neck;Head",
        "*_Upper_Arm_Joint_01;*_Forearm_Joint_01;*_Wrist_Joint_01",
        "*_Thigh_Joint_01;*_Knee_Joint_01;*_Ankle_Joint_01",
    ),
    "asf": _layout(
        ASF,
        ("l", "r"),
        0.0,
        PLAIN,
        "lowerback;upperback;thorax",
        "lowerneck;upperneck;head",
        "*humerus;*radius;*wrist",
        "*femur;*tibia;*foot",
    ),
    "theia": _layout(
        THEIA,
        ("l", "r"),
        0.0,
        FBX,
        "abdomen;torso",
        "head",
        "*_uarm;*_larm;*_hand",
        "*_thigh;*_shank;*_foot",
    ),
    "source 2": _layout(
        SOURCE_2,
        L_R,
        45.0,
        PLAIN,
        "spine_0;spine_1;spine_2;spine_3",
        "neck_0;head",
        "arm_upper_*;arm_lower_*;hand_*",
        "leg_upper_*;leg_lower_*;ankle_*",
    ),
    "gta": _layout(
        GTA,
        L_R,
        45.0,
        PLAIN,
        "SKEL_Spine_Root;SKEL_Spine0;SKEL_Spine1;SKEL_Spine2;SKEL_Spine3",
        "SKEL_Neck_1;SKEL_Head",
        "SKEL_*_UpperArm;SKEL_*_Forearm;SKEL_*_Hand",
        "SKEL_*_Thigh;SKEL_*_Calf;SKEL_*_Foot",
    ),
    "synty": _layout(
        SYNTY,
        L_R,
        45.0,
        FBX,
        "Spine_01;Spine_02;Spine_03",
        "Neck;Head",
        "Shoulder_*;Elbow_*;Hand_*",
        "UpperLeg_*;LowerLeg_*;Ankle_*",
    ),
    "meta": _layout(
        META,
        WORDS,
        0.0,
        PLAIN,
        "FullBody_SpineLower;FullBody_SpineMiddle;FullBody_SpineUpper;FullBody_Chest",
        "FullBody_Neck;FullBody_Head",
        "FullBody_*ArmUpper;FullBody_*ArmLower;FullBody_*HandWrist",
        "FullBody_*UpperLeg;FullBody_*LowerLeg;FullBody_*FootAnkle",
    ),
    "cloudrig": _layout(
        CLOUDRIG,
        L_R,
        45.0,
        PLAIN,
        "DEF-Spine1;DEF-Spine2;DEF-Spine3;DEF-Chest",
        "DEF-Neck;DEF-Head",
        "DEF-UpperArm1.*;DEF-UpperArm2.*;DEF-Forearm1.*;DEF-Forearm2.*;DEF-Wrist.*",
        "DEF-Thigh1.*;DEF-Thigh2.*;DEF-Knee1.*;DEF-Knee2.*;DEF-Foot.*",
    ),
    "souls": _layout(
        SOULS,
        L_R,
        45.0,
        PLAIN,
        "Spine;Spine1",
        "Neck;Head",
        "*_UpperArm;*_Forearm;*_Hand",
        "*_Thigh;*_Calf;*_Foot",
    ),
    "japanese underscores": _layout(
        JAPANESE,
        L_R,
        40.0,
        PLAIN,
        "上半身;上半身2",
        "首;頭",
        "腕_*;ひじ_*;手首_*",
        "足_*;ひざ_*;足首_*",
    ),
}
"""Families whose skeletons are recognized from a clip as well; an empty foot is missing."""

FAMILIES = LAYOUTS | MORE

Joints = Callable[[str, int], Vec]
"""Where a joint is, by its name and side, in metres with Z up; the figure faces −Y."""


class Joint(NamedTuple):
    """A bone of a family.

    Attributes:
        name: Its name.
        parent: That of its parent; empty for none.
        side: 1 for left, -1 for right, 0 for neither.
        head: Where it is.
    """

    name: str
    parent: str
    side: int
    head: Vec


def joints_of(layout: Layout, joints: Joints) -> list[Joint]:
    """Return the bones of a family, parents first, for a figure."""
    found: list[Joint] = []
    above: list[list[tuple[str, Vec]]] = []  # Of each level, for left and right.
    for line in layout.text.strip("\n").split("\n"):
        name, _, where = line.strip().partition(" @")
        depth = len(line) - len(line.lstrip())
        del above[depth:]
        pair: list[tuple[str, Vec]] = []
        for i, sign in enumerate((1, -1)):
            side_name = name.replace("*", layout.sides[i]).replace("$", WORDS[i])
            parent, place = above[-1][i] if above else ("", (0.0, 0.0, 0.0))
            side = sign if side_name != name else 0
            if where:
                place = _place(where, side or 1, joints)
            else:
                place = add(place, _beyond(found, parent))
            pair.append((side_name, place))
            if i == 0 or side:
                found.append(Joint(side_name, parent, side, place))
        above.append(pair)
    return found


def _beyond(found: list[Joint], parent: str) -> Vec:
    """Return the way on for a finger or a toe: that of the bone before it, 2.5 centimetres long."""
    joints = {joint.name: joint for joint in found}
    way = sub(joints[parent].head, joints[joints[parent].parent].head)
    size = length(way)
    return scaled(way, 0.025 / size) if size > 1e-6 else (0.0, -0.025, 0.0)


def _place(where: str, side: int, joints: Joints) -> Vec:
    start, _, rest = where.partition("~")
    place = joints(start, side)
    if rest:
        end, _, share = rest.partition("*")
        place = mix(place, joints(end, side), float(share))
    return place


def about_x(point: Vec, angle: float) -> Vec:
    """Return a point turned about the X axis."""
    x, y, z = point
    return (x, cos(angle) * y - sin(angle) * z, sin(angle) * y + cos(angle) * z)


def _about_y(point: Vec, angle: float) -> Vec:
    x, y, z = point
    return (cos(angle) * x + sin(angle) * z, y, cos(angle) * z - sin(angle) * x)


def _about(center: Vec, turn: Callable[[Vec, float], Vec], point: Vec, angle: float) -> Vec:
    return add(center, turn(sub(point, center), angle))


def standing(arm: float) -> Joints:
    """Return a standing figure whose arms hang down by an angle, in degrees."""

    def place(name: str, side: int) -> Vec:
        if name in TRUNK:
            return TRUNK[name]
        place = SIDE[name]
        if name in ARM[2:]:
            place = _about(SIDE["arm"], _about_y, place, radians(arm))
        return (side * place[0], *place[1:])

    return place


def walking(phase: float, yaw: float = 0.0) -> Joints:
    """Return a figure at a phase of its walk, in radians; it faces −Y turned by an angle."""
    stand = standing(72.0)

    def place(name: str, side: int) -> Vec:
        point = stand(name, side)
        swing = sin(phase) * side
        if name in ("shin", "foot", "toe", "toe end", "heel"):
            hip, knee = stand("thigh", side), stand("shin", side)
            if name != "shin":
                bend = radians(8.0 + 50.0 * max(0.0, cos(phase) * side))
                point = _about(knee, about_x, point, bend)
            point = _about(hip, about_x, point, radians(-26.0 * swing))
        elif name in ARM[2:]:
            if name != "elbow":
                point = _about(stand("elbow", side), about_x, point, radians(-22.0))
            point = _about(stand("arm", side), about_x, point, radians(24.0 * swing))
        x, y, z = point
        y -= 0.2 * phase
        return (cos(yaw) * x - sin(yaw) * y, sin(yaw) * x + cos(yaw) * y, z)

    return place
