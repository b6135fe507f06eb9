"""The writes of the hot path: how work is claimed, started and applied. `interface` says what there is."""
