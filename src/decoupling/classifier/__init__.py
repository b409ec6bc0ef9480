"""`DecouplingClassifier`: its input, the plan and the steps of its fit, and what it shows."""
