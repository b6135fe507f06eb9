"""Read-only access to databases, by each database's own means. Both modules run in a child process."""
