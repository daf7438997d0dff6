"""Captures and characters of others, which are not part of the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

CAPTURES = Path(__file__).resolve().parents[3].parent / "shared" / "data"
"""Where captures and characters lie, if there are any."""


def skip_without(name: str) -> str:
    path = CAPTURES / name
    if not path.exists():
        pytest.skip(f"{name} is not beside the checkout")
    return str(path)
