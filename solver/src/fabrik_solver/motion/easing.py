"""Smooth ways from one value to another."""


def smooth(x: float) -> float:
    """Return 0 up to 0 and 1 from 1 on, with a way between that has no slope at either end."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def smoother(x: float) -> float:
    """Return the same with no bend at either end either: the way of the least jerk."""
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - x * (15.0 - 6.0 * x))
