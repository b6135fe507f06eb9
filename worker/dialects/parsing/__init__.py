"""What the dialects share: how labels, calls, inputs and values are found in a reply and read."""
