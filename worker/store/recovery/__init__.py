"""What happens without anybody asking: liveness, takeover, the sweeper's looks, and invariants."""
