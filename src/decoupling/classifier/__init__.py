"""`DecouplingClassifier`: what it is given, what it finds, what it shows."""
