"""What the joint of a bone allows."""
