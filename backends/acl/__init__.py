"""The `acl` backend: a vendor's runtime library."""
