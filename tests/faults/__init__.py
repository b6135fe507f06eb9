"""Processes are killed, frozen and cut off, and the work continues."""
