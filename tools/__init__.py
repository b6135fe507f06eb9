"""Tools an agent may call: the decorator (`base`), the registry, and the built-in tools, one per file."""
