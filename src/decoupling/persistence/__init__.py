"""Save models and load them, without pickle."""

from decoupling.persistence.models import describe, load, save

__all__ = ["describe", "load", "save"]
