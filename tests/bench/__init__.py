"""`make bench`: measures the engine beside its ceiling, a plain loop and, where they are given, its peers."""
