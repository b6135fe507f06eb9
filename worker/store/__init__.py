"""The database: tables, guarded writes, admission, reads. Nothing here sends a message or calls a model."""
