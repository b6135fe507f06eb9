"""Runs code that a model wrote where it can do no harm. `inside` runs within; the rest stays with the worker."""
