"""Access to the web for tools: checked addresses, limited answers, pages as text."""
