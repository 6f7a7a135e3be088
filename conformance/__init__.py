"""Conformance cases, derived from the tables, and the pytest runner that judges backends by them."""
