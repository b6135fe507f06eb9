"""Tests that teach: read them in order, one idea each."""
