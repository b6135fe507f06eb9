"""`make bench`: measures the engine, its ceiling, a plain loop and, if they are given, other libraries."""
