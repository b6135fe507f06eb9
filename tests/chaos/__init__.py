"""Random faults during several hundred questions; in the end everything must still be right."""
