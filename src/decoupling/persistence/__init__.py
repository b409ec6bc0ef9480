"""Save models and load them, without pickle."""

from decoupling.persistence.models import describe, load, save, untrusted_types

__all__ = ["describe", "load", "save", "untrusted_types"]
