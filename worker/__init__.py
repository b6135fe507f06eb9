"""stepmill's engine."""
