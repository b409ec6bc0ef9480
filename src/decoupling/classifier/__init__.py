"""`DecouplingClassifier`: its input, the plan and the steps of its fit, and what it shows.

`estimator` is the class. Its `fit` reads the input (`fit_input`), plans the fits (`planning`) and
takes one step after the other (`fit_steps`), by its `options`. `alone` is what p(label | x) and
labels say without retraining. `issues` lists doubtful labels, `notebook` shows T.
"""
