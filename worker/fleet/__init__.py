"""A worker process: start, heartbeat, sweeper, invariant checks, and drain."""
