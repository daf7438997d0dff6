"""What a body is: its limbs, how their joints bend, where they end, and kinds of rigs."""
