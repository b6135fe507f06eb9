"""How runs come in and begin: submission, budgets, who is next, and how endings are settled."""
