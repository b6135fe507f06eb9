"""Runs in the isolated process: standard library only, imported by name from a bare interpreter."""
