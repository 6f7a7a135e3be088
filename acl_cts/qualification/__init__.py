"""Qualification packages: writing one from a run, and verifying one without a device or a library."""

from acl_cts.qualification.package import write_package
from acl_cts.qualification.verification import Verification, verify_package

__all__ = ["Verification", "verify_package", "write_package"]
