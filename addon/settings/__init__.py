"""Settings: definitions, values, and change notifications."""
