"""Limits shared by the fleet: endpoint pauses, rate limits, learned adaptations, tool limits and caches."""
