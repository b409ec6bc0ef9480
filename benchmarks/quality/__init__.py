"""How well classes are found: every task, data set and classifier, beside every peer."""
