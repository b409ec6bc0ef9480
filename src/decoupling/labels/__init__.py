"""Observed labels: what each row was given, in the type of any library."""
