"""The model client, its deadlines, error classes, prices and the limits shared over the fleet."""
