"""The native executor: C generated from the tables, compiled on demand, run as a worker process of its own."""
