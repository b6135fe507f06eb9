"""The commands of `stepmill run`."""
