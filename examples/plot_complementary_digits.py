"""
Labels that say what a digit is not
===================================

Somebody was shown each picture together with one wrong digit, and ticked "not this". From such
labels a classifier learns p(label | x), in which the true digit is the one that is *missing*. Here
nothing else is passed on: ``infer`` is given the table of probabilities and how the labels came
about, and neither pictures nor labels.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from decoupling import TransitionPrior, infer
from decoupling.datasets import give_labels

X, true = load_digits(return_X_y=True)
not_this = TransitionPrior.complementary(range(10))
labels = give_labels(true, not_this, random_state=0)
print(f"{np.sum(labels == true)} of {len(labels)} labels are the digit itself")

# %%
# Any classifier may have made the table, so long as no row was predicted by a model that had seen
# its label.

model = make_pipeline(
    Nystroem(gamma=1e-3, n_components=200, random_state=0), LogisticRegression(max_iter=1000)
)
label_proba = cross_val_predict(model, X, labels, cv=5, method="predict_proba")
posterior = infer(label_proba, not_this)
print(f"largest p(label | x): {label_proba.max():.2f} of any row")
print(f"stopped after {posterior.trace.n_iter} iterations: {posterior.trace.stopped_because}")

# %%
# The naive way would take the least probable label. With the true digits in view:

guess = posterior.class_proba.argmax(axis=1)
scores = {
    "least probable label": float(np.mean(label_proba.argmin(axis=1) == true)),
    "most probable class": float(np.mean(guess == true)),
}
for name, score in scores.items():
    print(f"{name:<22}{score:.3f}")

# %%
# Four pictures, the labels expected of them and the digits inferred.

fig, axes = plt.subplots(4, 3, figsize=(8, 6.6), layout="constrained", width_ratios=[1, 3, 3])
rows = [np.flatnonzero(true == digit)[0] for digit in (0, 3, 6, 8)]
for (picture, before, after), row in zip(axes, rows, strict=True):
    picture.imshow(X[row].reshape(8, 8), cmap="gray_r")
    picture.set_axis_off()
    colours = np.where(np.arange(10) == true[row], "C1", "C0")
    before.bar(range(10), label_proba[row], color=colours)
    before.axhline(1 / 9, color="black", linestyle=":", linewidth=1)
    after.bar(range(10), posterior.class_proba[row], color=colours)
    before.set(xticks=range(10), ylim=(0, 0.3))
    after.set(xticks=range(10), ylim=(0, 1))
axes[0, 1].set_title("p(label | x), dotted: 1/9")
axes[0, 2].set_title("p(class | x), orange: the true digit")
axes[-1, 1].set_xlabel("digit that it is said not to be")
axes[-1, 2].set_xlabel("digit")
plt.show()
