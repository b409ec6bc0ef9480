"""
An analysis that knows its labels are uncertain
===============================================

How much alcohol do wines of three cultivars have? The labels on three bottles in ten are wrong, so
means over the bottles as labelled are drawn towards each other. Correcting each label to the most
probable class would mend that, and then pretend that nothing is uncertain. Multiple imputation
completes the data many times over, runs the analysis on each, and adds up both kinds of spread.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

data = load_wine()
X, true = data.data, data.target
alcohol = X[:, data.feature_names.index("alcohol")]
given = give_labels(true, TransitionPrior.noisy(range(3), noise=0.3), random_state=0)

# %%
# The classifier is not shown the alcohol: what is to be analysed should not have decided the class.

others = np.delete(X, data.feature_names.index("alcohol"), axis=1)
model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
clf = DecouplingClassifier(model, task="noisy", random_state=0).fit(others, given)

# %%
# A draw of the labelling process T, then the class of each row given its label: p(class | label, x)
# is proportional to p(class | x) T. ``Posterior.draw`` knows how uncertain T is; with T held at its
# estimate ``clf.draw_classes(200)`` does the same in one line.

N_DRAWS = 200
_, T = clf.posterior_.draw(N_DRAWS, random_state=0)  # (200, C, S)
columns = [clf.labels_.index(label) for label in given.tolist()]
weights = clf.class_proba_ * T[:, :, columns].swapaxes(1, 2)  # (200, N, C)
rng = np.random.default_rng(0)
completed = rng.multinomial(1, weights / weights.sum(axis=2, keepdims=True)).astype(bool)

# %%
# Rubin's rules: the mean over the draws, and the variance within a draw plus that between draws.


def mean_and_variance(member):
    """Mean alcohol of the bottles of a class, and the square of its standard error."""
    return alcohol[member].mean(), alcohol[member].var(ddof=1) / member.sum()


estimates = {"labels as given": [], "multiple imputation": [], "true classes": []}
for c, name in enumerate(clf.classes_):
    draws = np.array([mean_and_variance(drawn[:, c]) for drawn in completed])  # (200, 2)
    within, between = draws[:, 1].mean(), draws[:, 0].var(ddof=1) * (1 + 1 / N_DRAWS)
    estimates["labels as given"].append(mean_and_variance(given == name))
    estimates["multiple imputation"].append((draws[:, 0].mean(), within + between))
    estimates["true classes"].append(mean_and_variance(true == name))

error = {
    name: np.abs(np.subtract(values, estimates["true classes"])[:, 0]).max()
    for name, values in estimates.items()
}
widening = np.divide(estimates["multiple imputation"], estimates["true classes"])[:, 1].mean()
scores = {
    "labels": float(np.mean(given == true)),
    "corrected": float(np.mean(clf.transduction_ == true)),
    "given_error": float(error["labels as given"]),
    "imputed_error": float(error["multiple imputation"]),
    "wider": float(widening),
}
print(f"right labels: {scores['labels']:.3f} as given, {scores['corrected']:.3f} corrected")
print(f"largest error of a mean: {scores['given_error']:.2f} as given, ", end="")
print(f"{scores['imputed_error']:.2f} imputed")

# %%
# Means with 90% intervals.

fig, ax = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
for shift, (marker, (name, values)) in enumerate(zip("sox", estimates.items(), strict=True)):
    mean, variance = np.array(values).T
    place = np.arange(3) + 0.15 * (shift - 1)
    ax.errorbar(place, mean, 1.645 * np.sqrt(variance), fmt=marker, capsize=3, label=name)
ax.set_xticks(range(3), [f"cultivar {name}" for name in clf.classes_])
ax.set(ylabel="mean alcohol in % by volume", title="90% intervals")
ax.legend()
plt.show()
