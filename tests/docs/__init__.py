"""README and docs are run, or compared with the code."""
