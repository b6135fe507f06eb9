"""The `stepmill` command: one file a group of commands, loaded when it is used."""
