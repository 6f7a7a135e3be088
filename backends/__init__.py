"""What turns programs into traces: the real ACL, the C core and the simulator."""
