"""What `stepmill doctor` looks at. A check looks at one thing and returns findings; it mends nothing."""
