"""The engine as it runs: real worker processes, a real Redis, both databases, and a practice model over HTTP."""
