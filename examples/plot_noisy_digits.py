"""
Digits with one wrong label in five
===================================

Handwritten digits get a random wrong label 20% of the time. Decoupling reads the same classifier's
p(label | x), infers how labels are mixed up, and lists the rows to look at again.

True digits make the labels at the start and score the result at the end; nothing in between sees
them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

X, true = load_digits(return_X_y=True)
one_in_five = TransitionPrior.noisy(range(10), noise=0.2)
given = give_labels(true, one_in_five, random_state=0)
X, X_new, given, _, true, true_new = train_test_split(X, given, true, random_state=0)

# %%
# The classifier as it is, and the same one decoupled. All that is said of the labels is that some
# are wrong; how many is for the data to say.

model = make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=1000))
naive = model.fit(X, given).predict(X_new)
clf = DecouplingClassifier(model, task="noisy", random_state=0).fit(X, given)

lower, upper = clf.transition_interval(0.9)
print("p(label | class), with 90% intervals")
for title, s in {"own label": 8, "another": 0}.items():
    found = f"{clf.transitions_[8, s]:.3f}  ({lower[8, s]:.3f} to {upper[8, s]:.3f})"
    print(f"  {title:<11}{found}, in truth {one_in_five.mean[8, s]:.3f}")

# %%
# Labels that are more probably wrong than right, the worst first.

issues = clf.label_issues()
print(issues)

# %%
# From here on with the true digits. How many of those rows do have a wrong label, and how many of
# the wrong labels are among them?

wrong = given != true
scores = {
    "precision": float(wrong[issues.row].mean()),
    "recall": float(wrong[issues.row].sum() / wrong.sum()),
    "labels": float(np.mean(given == true)),
    "corrected": float(np.mean(clf.transduction_ == true)),
    "naive": float(np.mean(naive == true_new)),
    "decoupled": float(np.mean(clf.predict(X_new) == true_new)),
}
print(f"Of the {len(issues)} rows listed {scores['precision']:.1%} do have a wrong label;")
print(f"they are {scores['recall']:.1%} of all {wrong.sum()} wrong labels.\n")
print(f"{'Accuracy':<31}{'before':>8}{'after':>8}")
print(f"  {'labels of these rows':<29}{scores['labels']:>8.3f}{scores['corrected']:>8.3f}")
print(f"  {'predictions of new rows':<29}{scores['naive']:>8.3f}{scores['decoupled']:>8.3f}")

# %%
# The 16 worst labels, from the top left. A suggestion that is not the true digit would be orange.

fig, axes = plt.subplots(2, 8, figsize=(9, 3.2), layout="constrained")
for ax, row, suggested in zip(axes.flat, issues.row, issues.suggested, strict=False):
    ax.imshow(X[row].reshape(8, 8), cmap="gray_r")
    colour = "black" if suggested == true[row] else "C1"
    ax.set_title(f"{given[row]} → {suggested}", color=colour)
    ax.set_xticks([])
    ax.set_yticks([])
fig.suptitle("label given → digit suggested")
plt.show()
