"""Coverage-guided call sequences, on the programs, plans and oracle of `specs`."""
