"""The endpoints, one file per concern."""
