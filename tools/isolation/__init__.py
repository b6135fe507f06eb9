"""Runs code that a model wrote, isolated. `inside` runs in the isolated process; the rest runs in the worker."""
