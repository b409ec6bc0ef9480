"""May the answer be wrong? Reasons, the light, and warnings."""

from decoupling.diagnostics.record import Diagnostics
from decoupling.diagnostics.warnings import IdentifiabilityWarning

__all__ = ["Diagnostics", "IdentifiabilityWarning"]
