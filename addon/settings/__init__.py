"""Settings: their definitions, their values, and notifications of their changes."""
