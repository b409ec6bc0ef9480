"""Distributions, expected logarithms and intervals: functions on arrays."""
