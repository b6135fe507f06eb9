"""The life of a worker process: how it starts, beats, sweeps, inspects, drains and ends."""
