"""The HTTP API: hand in questions, follow them, take results out."""
