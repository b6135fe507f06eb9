"""The checks of `stepmill doctor`. Each checks one thing and yields findings; none changes anything."""
