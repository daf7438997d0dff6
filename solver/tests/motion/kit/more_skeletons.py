"""More skeletons in the manner of `families`, without their layouts: of engines and captures."""

from __future__ import annotations

GODOT = """
Root @ground
 Hips @pelvis
  Spine @spine
   Chest @spine~chest*0.5
    UpperChest @chest
     Neck @neck
      Head @head
       Jaw @head
       *Eye @eye
     *Shoulder @clavicle
      *UpperArm @arm
       *LowerArm @elbow
        *Hand @hand
         *ThumbMetacarpal @thumb
          *ThumbProximal
           *ThumbDistal
         *IndexProximal @index
          *IndexIntermediate
           *IndexDistal
         *LittleProximal @pinky
          *LittleIntermediate
           *LittleDistal
  *UpperLeg @thigh
   *LowerLeg @shin
    *Foot @foot
     *Toes @toe
"""

UNITY = """
Hips @pelvis
 Spine @spine
  Chest @spine~chest*0.5
   Upper Chest @chest
    Neck @neck
     Head @head
      * Eye @eye
    * Shoulder @clavicle
     * Upper Arm @arm
      * Lower Arm @elbow
       * Hand @hand
        * Thumb Proximal @thumb
         * Thumb Intermediate
          * Thumb Distal
        * Index Proximal @index
         * Index Intermediate
          * Index Distal
        * Ring Proximal @ring
         * Ring Intermediate
          * Ring Distal
 * Upper Leg @thigh
  * Lower Leg @shin
   * Foot @foot
    * Toes @toe
"""

ROBOT_KYLE = """
Root @ground
 Hip @pelvis
  *_Thigh_Joint_01 @thigh
   *_Knee_Joint_01 @shin
    *_Ankle_Joint_01 @foot
     *_Toe_Joint_01 @toe
  Spine @spine
   Ribs @chest
    *_Shoulder_Joint_01 @clavicle
     *_Upper_Arm_Joint_01 @arm
      *_Forearm_Joint_01 @elbow
       *_Wrist_Joint_01 @hand
        *_Thumb_Joint_01a @thumb
         *_Thumb_Joint_01b
          *_Thumb_Joint_01c
        *_Index_Finger_Joint_01a @index
         *_Index_Finger_Joint_01b
          *_Index_Finger_Joint_01c
    Neck @neck
     Head @head
"""

ASF = """
root @pelvis
 *hipjoint @pelvis
  *femur @thigh
   *tibia @shin
    *foot @foot
     *toes @toe
 lowerback @pelvis
  upperback @spine
   thorax @spine~chest*0.6
    lowerneck @chest~neck*0.6
     upperneck @neck
      head @head
    *clavicle @clavicle
     *humerus @arm
      *radius @elbow
       *wrist @hand
        *hand @hand~index*0.3
         *fingers @index
        *thumb @hand~thumb*0.3
"""

THEIA = """
worldbody @ground
 pelvis @pelvis
  *_thigh @thigh
   *_shank @shin
    *_foot @foot
     *_toes @toe
  abdomen @spine
   torso @chest
    head @head
    *_uarm @arm
     *_larm @elbow
      *_hand @hand
"""

SOURCE_2 = """
root_motion @ground
 pelvis @pelvis
  spine_0 @pelvis~spine*0.5
   spine_1 @spine
    spine_2 @spine~chest*0.5
     spine_3 @chest
      neck_0 @neck
       head @head
      clavicle_* @clavicle
       arm_upper_* @arm
        arm_upper_*_twist0 @arm
        arm_upper_*_twist1 @arm~elbow*0.5
        arm_lower_* @elbow
         arm_lower_*_twist0 @elbow
         arm_lower_*_twist1 @elbow~hand*0.6
         hand_* @hand
          finger_thumb_0_* @thumb
           finger_thumb_1_*
            finger_thumb_2_*
          finger_index_meta_* @hand~index*0.3
           finger_index_0_* @index
            finger_index_1_*
             finger_index_2_*
          hold_* @hand~index*0.5
  leg_upper_* @thigh
   leg_upper_*_twist0 @thigh
   leg_upper_*_twist1 @thigh~shin*0.5
   leg_lower_* @shin
    leg_lower_*_twist0 @shin
    leg_lower_*_twist1 @shin~foot*0.5
    ankle_* @foot
     ball_* @toe
 root_IK @ground
  hand_*_IK_target @hand
  foot_*_IK_target @foot
"""

GTA = """
SKEL_ROOT @pelvis
 SKEL_Pelvis @pelvis
  SKEL_*_Thigh @thigh
   SKEL_*_Calf @shin
    SKEL_*_Foot @foot
     SKEL_*_Toe0 @toe
     IK_*_Foot @foot
     PH_*_Foot @foot
    MH_*_Knee @shin
   RB_*_ThighRoll @thigh
 SKEL_Spine_Root @spine
  SKEL_Spine0 @spine
   SKEL_Spine1 @spine~chest*0.3
    SKEL_Spine2 @spine~chest*0.6
     SKEL_Spine3 @chest
      SKEL_*_Clavicle @clavicle
       SKEL_*_UpperArm @arm
        SKEL_*_Forearm @elbow
         SKEL_*_Hand @hand
          SKEL_*_Finger00 @thumb
           SKEL_*_Finger01
            SKEL_*_Finger02
          SKEL_*_Finger10 @index
           SKEL_*_Finger11
            SKEL_*_Finger12
          SKEL_*_Finger20 @middle
           SKEL_*_Finger21
            SKEL_*_Finger22
          PH_*_Hand @hand
          IK_*_Hand @hand
         RB_*_ForeArmRoll @elbow
        RB_*_ArmRoll @arm
        MH_*_Elbow @elbow
      SKEL_Neck_1 @neck
       SKEL_Head @head
        IK_Head @head
       RB_Neck_1 @neck
 IK_Root @ground
"""

SYNTY = """
Root @ground
 Hips @pelvis
  Spine_01 @spine
   Spine_02 @spine~chest*0.5
    Spine_03 @chest
     Clavicle_* @clavicle
      Shoulder_* @arm
       Elbow_* @elbow
        Hand_* @hand
         Thumb_*_01 @thumb
          Thumb_*_02
           Thumb_*_03
         IndexFinger_*_01 @index
          IndexFinger_*_02
           IndexFinger_*_03
         Finger_*_01 @middle
          Finger_*_02
           Finger_*_03
     Neck @neck
      Head @head
       Eyes @head
       Eyebrows @head
  UpperLeg_* @thigh
   LowerLeg_* @shin
    Ankle_* @foot
     Ball_* @toe
      Toes_* @toe end
"""

META = """
FullBody_Root @ground
 FullBody_Hips @pelvis
  FullBody_SpineLower @spine
   FullBody_SpineMiddle @spine~chest*0.4
    FullBody_SpineUpper @spine~chest*0.8
     FullBody_Chest @chest
      FullBody_Neck @neck
       FullBody_Head @head
      FullBody_*Shoulder @clavicle
       FullBody_*Scapula @clavicle
       FullBody_*ArmUpper @arm
        FullBody_*ArmLower @elbow
         FullBody_*HandWristTwist @elbow~hand*0.7
         FullBody_*HandWrist @hand
          FullBody_*HandPalm @hand~middle*0.5
          FullBody_*HandThumbMetacarpal @thumb
           FullBody_*HandThumbProximal
            FullBody_*HandThumbDistal
          FullBody_*HandIndexMetacarpal @hand~index*0.2
           FullBody_*HandIndexProximal @index
            FullBody_*HandIndexIntermediate
             FullBody_*HandIndexDistal
  FullBody_*UpperLeg @thigh
   FullBody_*LowerLeg @shin
    FullBody_*FootAnkleTwist @shin~foot*0.8
    FullBody_*FootAnkle @foot
     FullBody_*FootSubtalar @foot
      FullBody_*FootTransverse @foot~toe*0.3
       FullBody_*FootBall @toe
"""

CLOUDRIG = """
DEF-Root @ground
 DEF-Hips @pelvis
  DEF-Spine1 @spine
   DEF-Spine2 @spine~chest*0.4
    DEF-Spine3 @spine~chest*0.8
     DEF-Chest @chest
      DEF-Neck @neck
       DEF-Head @head
      DEF-Clavicle.* @clavicle
       DEF-UpperArm1.* @arm
        DEF-UpperArm2.* @arm~elbow*0.5
         DEF-Forearm1.* @elbow
          DEF-Forearm2.* @elbow~hand*0.5
           DEF-Wrist.* @hand
            DEF-Index1.* @index
             DEF-Index2.*
            DEF-Thumb1.* @thumb
             DEF-Thumb2.*
  DEF-Thigh1.* @thigh
   DEF-Thigh2.* @thigh~shin*0.5
    DEF-Knee1.* @shin
     DEF-Knee2.* @shin~foot*0.5
      DEF-Foot.* @foot
       DEF-Toes.* @toe
"""

SOULS = """
Master @ground
 RootPos @ground
  Pelvis @pelvis
   *_Thigh @thigh
    *_Calf @shin
     *_Foot @foot
      *_Toe0 @toe
     *_CalfTwist @shin
     *_Knee @shin
    *_ThighTwist @thigh
   Spine @spine
    Spine1 @chest
     *_Clavicle @clavicle
      *_UpperArm @arm
       *_Forearm @elbow
        *_Hand @hand
         *_Weapon @index
         *_Finger0 @thumb
          *_Finger01
           *_Finger02
         *_Finger1 @index
          *_Finger11
           *_Finger12
        *_ForeTwist @elbow
       *_Elbow @elbow
      *_UpArmTwist @arm
     Neck @neck
      Head @head
     Sheath @chest
      Sheath_end @thigh
"""

JAPANESE = """
センター @pelvis
 腰 @pelvis
  上半身 @spine
   上半身2 @chest
    首 @neck
     頭 @head
    肩_* @clavicle
     腕_* @arm
      ひじ_* @elbow
       手首_* @hand
        人指1_* @index
         人指2_*
        親指1_* @thumb
         親指2_*
  足_* @thigh
   ひざ_* @shin
    足首_* @foot
     つま先_* @toe
"""
