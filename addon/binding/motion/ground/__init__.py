"""Feet on the ground: their goals, and the hip over them."""
