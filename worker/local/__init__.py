"""The embedded stack: everything stepmill needs, started and stopped together on one machine."""
