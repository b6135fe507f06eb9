"""The embedded stack: everything that stepmill needs, started and stopped together on one machine."""
