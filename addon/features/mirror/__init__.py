"""Constraints and joints, copied to other bones or to the other side."""
