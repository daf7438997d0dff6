"""The plan: what stays the same from frame to frame, resolved and ordered."""
