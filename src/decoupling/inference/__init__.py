"""Variational inference of class distributions and transitions from label distributions."""
