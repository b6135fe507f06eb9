"""What the fleet shares about endpoints and tools: pauses, rate limits, learned refusals, tool limits and caches."""
