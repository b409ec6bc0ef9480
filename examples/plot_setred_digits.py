"""
Self-training where one class has no labels
===========================================

Three in ten of the digits 0, 1 and 2 are labelled, and no other digit is. Self-training adds labels
of which it is sure, but with nothing to tell what "other" looks like it begins by taking every
unlabelled row for it. A decoupled start knows better: of each class it takes the surest half of the
rows that are expected in it. From then on each new label must agree with the labels of its
neighbours more than chance would have it (SETRED).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from decoupling import SetredClassifier, TransitionPrior
from decoupling.datasets import give_labels

X, digits = load_digits(return_X_y=True)
true = np.where(digits < 3, digits.astype(str), "other")
marking = TransitionPrior.multi_positive_unlabelled(["0", "1", "2"], "other", labelled=0.3)
given = give_labels(true, marking, random_state=0)
unlabelled = ~np.isin(given, ["0", "1", "2"])
print(f"{len(X)} digits, {np.sum(~unlabelled)} labelled")

# %%
# The true classes go in for study only: they let ``history_`` tell how good the labels are.

model = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))
setreds = {
    start: SetredClassifier(
        model, start=start, task="multi-positive-unlabelled", negative="other", random_state=0
    ).fit(X, given, true_classes=true)
    for start in ("labels", "decoupling")
}

# %%
# How each of them ended.

scores = {}
for start, setred in setreds.items():
    scores[start] = float(f1_score(true, setred.transduction_, average="macro"))
    ended = setred.termination_condition_
    print(f"start={start!r:<14}{setred.n_iter_:>3} rounds, {ended}, macro-F1 {scores[start]:.3f}")

# %%
# Rows that were given a label, round by round, and how good these labels are. From the labels alone
# rows of the labelled digits are given away to "other", more of them in every round; the decoupled
# start has half of every class at once.

fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
for (start, setred), marker in zip(setreds.items(), "so", strict=True):
    rounds = range(setred.n_iter_)
    style = {"marker": marker, "markersize": 4, "label": f'start="{start}"'}
    left.plot(rounds, [step.relabelled for step in setred.history_], **style)
    right.plot(
        rounds, [step.f1 if step.relabelled else np.nan for step in setred.history_], **style
    )
left.axhline(unlabelled.sum(), color="black", linestyle=":")
left.set(xlabel="round", ylabel="rows given a label", title="dotted: all unlabelled rows")
right.set(xlabel="round", ylabel="macro-F1", title="of the labels found so far", ylim=(0, 1.05))
right.legend(loc="lower right")
plt.show()
