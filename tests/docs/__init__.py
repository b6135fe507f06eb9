"""What README and docs say is run, or compared with the code."""
