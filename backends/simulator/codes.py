"""The return codes that the simulated library gives."""

SUCCESS = 0

INVALID = 107000
"""An argument is wrong: NULL, out of range, a dead or foreign handle, or in a state in which the call is refused."""

MEMORY = 207001
"""An inner allocation failed or the resources of the profile are used up."""

FULL = 207012
"""The chain would have more than its highest number of buffers."""
