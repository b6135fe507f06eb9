"""Costs that must not grow, as exact counts, which do not depend on the machine."""
