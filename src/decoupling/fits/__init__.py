"""Fits of any classifier, once per fold."""
