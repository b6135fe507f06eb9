"""The pure core: what a run is and how it moves. It does no I/O and imports no other package of this project."""
