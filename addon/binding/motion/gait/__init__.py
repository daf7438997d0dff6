"""Walking legs: the walks of an armature, from their settings to keys."""
