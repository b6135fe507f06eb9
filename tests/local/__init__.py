"""The embedded stack, with real processes and real kills."""
