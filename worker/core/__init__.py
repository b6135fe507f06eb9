"""The pure core: what a run is and how it moves. Imports nothing of ours and touches nothing outside."""
