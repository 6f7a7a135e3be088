"""The subcommands of `acl-cts`, one a module."""
