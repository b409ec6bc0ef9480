"""The bound and its ascent."""
