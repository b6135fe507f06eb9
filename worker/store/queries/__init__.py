"""Everything that only reads: for the API, the commands and the prompts."""
