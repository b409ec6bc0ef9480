"""
Wines of two labelled kinds, and whatever else is in the cellar
===============================================================

Four in ten bottles of Barolo and of Grignolino carry a label; the third cultivar never does.
Decoupling adds the class "other", and tells what the unlabelled bottles are. Rows are those of a
data frame, and the table that comes back has its index.

True cultivars make the labels at the start and score at the end; nothing in between sees them.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import ConfusionMatrixDisplay, accuracy_score, f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

CULTIVARS = ["Barolo", "Grignolino", "other"]
RATE = 0.4

data = load_wine(as_frame=True)
bottles = [f"bottle {i}" for i in range(1, len(data.target) + 1)]
X = data.data.set_axis(bottles)
true = np.array(CULTIVARS)[data.target]
marking = TransitionPrior.multi_positive_unlabelled(CULTIVARS[:2], "other", RATE)
y = pd.Series(give_labels(true, marking, random_state=0), index=bottles)
y.value_counts(dropna=False)

# %%
# Bottles without a label are of any kind. The naive way takes them for "other", and predicts each
# bottle by a model that has not seen it.

model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
naive = cross_val_predict(model, X, y.fillna("other"), cv=5)

task = "multi-positive-unlabelled"
clf = DecouplingClassifier(model, task=task, negative="other", random_state=0).fit(X, y)
table = clf.label_issues(with_unlabelled=True).table()
table[["suggested", "p_Barolo", "p_Grignolino", "p_other"]][:5]

# %%
# From here on with the true cultivars. How often each kind is labelled is part of the answer.

unlabelled = y.isna().to_numpy()
lower, upper = clf.transition_interval(0.9)
print("p(labelled | class)   inferred    90% interval   in these rows   drawn with")
for name in CULTIVARS[:2]:
    cell = list(clf.classes_).index(name), clf.labels_.index(name)
    interval = f"{lower[cell]:.3f} to {upper[cell]:.3f}"
    share = np.mean(~unlabelled[true == name])
    print(f"  {name:<20}{clf.transitions_[cell]:>8.3f}{interval:>16}{share:>16.3f}{RATE:>13.3f}")

# %%
# What the unlabelled bottles are, before and after.

guesses = {"unlabelled = other": naive, "decoupled": clf.transduction_}
scores = {}
print(f"{'Unlabelled bottles':<35}{'accuracy':>9}{'macro-F1':>10}")
for name, guess in guesses.items():
    accuracy = accuracy_score(true[unlabelled], guess[unlabelled])
    f1 = f1_score(true[unlabelled], guess[unlabelled], average="macro")
    scores[name] = accuracy, f1
    print(f"  {name:<33}{accuracy:>9.3f}{f1:>10.3f}")

fig, axes = plt.subplots(1, 2, figsize=(8.2, 3.8), sharey=True, layout="constrained")
for ax, (name, guess) in zip(axes, guesses.items(), strict=True):
    ConfusionMatrixDisplay.from_predictions(
        true[unlabelled], guess[unlabelled], labels=CULTIVARS, ax=ax, cmap="Blues", colorbar=False
    )
    ax.set(title=name, xlabel="predicted", ylabel="")
axes[0].set_ylabel("true cultivar")
fig.suptitle("Unlabelled bottles")
plt.show()
