"""Tools an agent may call: the decorator (`base`), what is known (`registry`), and the built-in ones, a file each."""
