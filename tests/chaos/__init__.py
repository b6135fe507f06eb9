"""Random faults strike several hundred questions; at the end everything must be right all the same."""
