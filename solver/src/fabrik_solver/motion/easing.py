"""Smooth transitions from 0 to 1."""


def smooth(x: float) -> float:
    """Return a smoothstep from 0 at 0 to 1 at 1, with zero slope at both ends; constant beyond."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def smoother(x: float) -> float:
    """Return a smoothstep with zero slope and curvature at both ends, for minimum jerk."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - x * (15.0 - 6.0 * x))
