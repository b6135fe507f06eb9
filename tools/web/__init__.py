"""Reaching the web from a tool: checked addresses, bounded answers, pages as text."""
