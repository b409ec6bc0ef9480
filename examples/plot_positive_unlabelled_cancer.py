"""
Tumours of which only some malignant ones are marked
====================================================

One malignant tumour in four carries the label "malignant"; all others carry none. A classifier that
reads "no label" as benign misses most of the rest. Decoupling infers how often a malignant tumour
is marked, and corrects for it.

True diagnoses make the labels at the start and score at the end; nothing else sees them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

RATE = 0.25
data = load_breast_cancer()
diagnosis = data.target_names[data.target]
marking = TransitionPrior.positive_unlabelled(RATE, "malignant", "benign")
given = give_labels(diagnosis, marking, random_state=0)  # "malignant" or None
X, X_new, given, _, true, true_new = train_test_split(data.data, given, diagnosis, random_state=0)

# %%
# With one label and rows without any the default task is positive-unlabelled, so it need not be
# named. What the class without labels is called must be.

model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
marked = given == "malignant"
naive = model.fit(X, np.where(marked, "malignant", "benign"))
clf = DecouplingClassifier(model, negative="benign", random_state=0).fit(X, given)
print(f"{len(X)} tumours, {marked.sum()} marked as malignant; task: {clf.task_.name}")

# %%
# From here on with the true diagnoses. The rate at which malignant tumours are marked was not
# given; it is read off rows that are malignant beyond doubt.

malignant = list(clf.classes_).index("malignant")
cell = malignant, clf.labels_.index("malignant")
rate, (lower, upper) = clf.transitions_[cell], (end[cell] for end in clf.transition_interval())
print("p(labelled | malignant)")
print(f"  inferred                 {rate:.3f}, 90% interval {lower:.3f} to {upper:.3f}")
print(f"  share in these rows      {marked[true == 'malignant'].mean():.3f}")
print(f"  rate it was drawn with   {RATE:.3f}")

# %%
# Scores on tumours that neither has seen.

scores = {"rate": float(rate), "lower": float(lower), "upper": float(upper)}
print(f"{len(X_new)} new tumours{'precision':>28}{'recall':>10}{'F1':>10}")
titles = {"naive": "unlabelled = benign", "decoupled": "decoupled"}
for name, fitted in {"naive": naive, "decoupled": clf}.items():
    guess = fitted.predict(X_new)
    for metric in (precision_score, recall_score, f1_score):
        kind = metric.__name__.removesuffix("_score")
        scores[f"{name}_{kind}"] = float(metric(true_new, guess, pos_label="malignant"))
    cells = (scores[f"{name}_{kind}"] for kind in ("precision", "recall", "f1"))
    print(f"  {titles[name]:<31}" + "".join(f"{score:>10.3f}" for score in cells))

# %%
# The classifier as it is predicts p(labelled | x), which is small even for malignant tumours.
# Decoupled, it predicts p(malignant | x), and 0.5 is the middle again. Each dot is a new tumour.

rng = np.random.default_rng(0)
fig, axes = plt.subplots(2, sharex=True, figsize=(6.4, 4.2), layout="constrained")
for ax, (name, fitted) in zip(axes, {"naive": naive, "decoupled": clf}.items(), strict=True):
    proba = fitted.predict_proba(X_new)[:, list(fitted.classes_).index("malignant")]
    for height, kind in enumerate(["benign", "malignant"]):
        rows = true_new == kind
        jitter = rng.uniform(-0.3, 0.3, rows.sum())
        ax.scatter(proba[rows], height + jitter, s=14, alpha=0.6, color=f"C{height}")
    ax.axvline(0.5, color="black", linestyle=":")
    ax.set_yticks([0, 1], ["benign", "malignant"])
    ax.set_title(titles[name])
fig.supylabel("true diagnosis")
axes[1].set_xlabel("predicted probability of “malignant”")
plt.show()
