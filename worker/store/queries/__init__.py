"""Read-only queries for the API, the commands and the prompts."""
