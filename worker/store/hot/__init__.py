"""The writes of the hot path: how work is claimed, started and applied. `interface` lists them."""
