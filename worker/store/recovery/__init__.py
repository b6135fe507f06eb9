"""Recovery without human action: liveness, takeover, the sweeper's checks, and invariants."""
