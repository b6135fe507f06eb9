"""The HTTP API: submit questions, follow them, fetch results."""
