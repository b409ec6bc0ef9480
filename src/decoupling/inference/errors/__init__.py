"""Error bars of what was inferred."""
