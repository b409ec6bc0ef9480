"""Reasons to doubt an answer, the light they make, and warnings.

`reasons` looks for signs of it, `record` makes a light of the reasons, and `warnings` has the
messages that a fit warns with.
"""

from decoupling.diagnostics.record import Diagnostics
from decoupling.diagnostics.warnings import IdentifiabilityWarning

__all__ = ["Diagnostics", "IdentifiabilityWarning"]
