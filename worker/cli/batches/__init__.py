"""The commands of `stepmill batch`."""
