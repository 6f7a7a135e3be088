"""Conformance test suite and fuzzer for the shared buffer and allocator descriptor APIs of the CANN runtime."""

__version__ = "0.1.0"
