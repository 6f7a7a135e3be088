"""The contract executed in plain Python, over memory that is only pretended."""
