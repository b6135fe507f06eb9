"""The tables, and the migrations that lead to them."""
