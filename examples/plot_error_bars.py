"""
Do the error bars hold the truth?
=================================

Four normals in the plane: three classes that are sometimes labelled, and a negative class that
hardly ever is. A classifier trained on such labels says "unlabelled" nearly everywhere. From its
p(label | x) and a rough guess of how the labels came about, decoupling infers the labelling process
T = p(label | class) and the share of each class, with intervals. The data are simulated, so both
can be held against the truth.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import TransitionPrior, infer
from decoupling.datasets import four_normals

CLASSES = ["negative", "red", "green", "blue"]
LABELS = ["unlabelled", "red", "green", "blue"]

data = four_normals(3000, random_state=0)
labelled = data.labels > 0
wrong = data.labels[labelled] != data.classes[labelled]
print(f"{len(data.X)} samples, {labelled.mean():.0%} of them labelled, {wrong.mean():.0%} wrongly")

# %%
# The guess: positives are labelled rightly one time in five, wrongly one time in ten, and that is
# worth no more than having seen fifty samples of each class.

guess = TransitionPrior(
    [
        [0.99, 0.01 / 3, 0.01 / 3, 0.01 / 3],
        [0.70, 0.20, 0.05, 0.05],
        [0.70, 0.05, 0.20, 0.05],
        [0.70, 0.05, 0.05, 0.20],
    ],
    strength=50,
    classes=CLASSES,
    labels=LABELS,
)
model = make_pipeline(
    StandardScaler(),
    Nystroem(gamma=0.5, n_components=30, random_state=0),
    LogisticRegression(max_iter=1000),
)
label_proba = cross_val_predict(model, data.X, data.labels, cv=5, method="predict_proba")

# %%
# The classes overlap, and that matters here. ``"bound"``, the default, is the fastest way to
# evaluate the expected logarithm. But it draws rows that lie between two classes into one of them,
# and is then too sure of what they add up to. ``"beta"`` takes longer and does so less.

posteriors = {
    method: infer(label_proba, guess, expected_log=method) for method in ("bound", "beta")
}

# %%
# Now with the truth: the transitions that labels were drawn with, and the shares of the classes
# among these rows.

balance = np.bincount(data.classes) / len(data.classes)
scores = {}
print("90% intervals that hold the truth")
for method, posterior in posteriors.items():
    lower, upper = posterior.transition_interval(0.9)
    in_rates = np.sum((lower <= data.transitions) & (data.transitions <= upper))
    lower, upper = posterior.class_balance_interval(0.9)
    in_shares = np.sum((lower <= balance) & (balance <= upper))
    scores[method] = int(in_rates), int(in_shares)
    print(f"  {method:<6} of transitions {in_rates:>2} of 16, of shares {in_shares} of 4")

# %%
# One data set is an anecdote: it can only show whether intervals are absurdly wide or narrow. They
# also take p(label | x) as given, and the error of the classifier comes on top.

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9.4, 5.2), layout="constrained", width_ratios=[3, 2]
)
for shift, (method, posterior) in zip((-0.17, 0.17), posteriors.items(), strict=True):
    for ax, middle, ends in (
        (left, posterior.transitions.ravel(), posterior.transition_interval(0.9)),
        (right, posterior.class_balance, posterior.class_balance_interval(0.9)),
    ):
        bars = np.abs(np.stack([end.ravel() for end in ends]) - middle)
        place = np.arange(len(middle)) + shift
        ax.errorbar(middle, place, xerr=bars, fmt="o", markersize=4, capsize=2, label=method)
cells = [f"{label} | {name}" for name in CLASSES for label in LABELS]
for ax, truth, names in ((left, data.transitions.ravel(), cells), (right, balance, CLASSES)):
    ax.scatter(truth, range(len(truth)), marker="|", s=200, color="black", label="truth", zorder=3)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(axis="x", alpha=0.3)
left.set(xlabel="p(label | class)", title="labelling process, 90% intervals")
right.set(xlabel="share of the rows", title="class balance, 90% intervals")
fig.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
plt.show()
