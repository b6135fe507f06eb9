"""The `stepmill` command: one file per group of commands, imported when used."""
