"""Transitions from 0 to 1."""


def smooth(x: float) -> float:
    """Return a smoothstep from 0 at 0 to 1 at 1, with zero slope at both ends; constant beyond."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


def smoother(x: float) -> float:
    """Return a smoothstep with zero slope and curvature at both ends, for minimum jerk.

    Source: Flash and Hogan, “The coordination of arm movements”, Journal of Neuroscience 5, 1985.
    """
    x = min(max(x, 0.0), 1.0)
    return x * x * x * (10.0 - x * (15.0 - 6.0 * x))


def biased(x: float, middle: float) -> float:
    """Return a transition from 0 at 0 to 1 at 1 with a given value at 0.5.

    This is the bias of C. Schlick, "Fast alternatives to Perlin's bias and gain functions"
    (Graphics Gems IV, 1994). The transition is steep at one end only, and monotonic. A middle of
    0.5 returns x, to the last bit.

    Args:
        x: From 0 to 1.
        middle: The value at 0.5, from 0 to 1.
    """
    if x <= 0.0 or x >= 1.0:
        return x
    return middle * x / ((1.0 - 2.0 * middle) * (1.0 - x) + middle)
