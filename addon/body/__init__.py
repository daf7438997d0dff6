"""Bodies: their limbs, how their joints bend, where they end, and the kinds of rigs."""
