"""Admission of runs: submission, budgets, the fair order, retries, and the settling of endings."""
