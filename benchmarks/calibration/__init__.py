"""How often intervals hold the truth."""
