"""Tests mirror the source; `services/` starts the real servers that they run against."""
