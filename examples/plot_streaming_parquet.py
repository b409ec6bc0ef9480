"""
More rows than memory, in a file or in a stream
===============================================

All that inference keeps of the rows it has seen is a small table, so rows may stay in a Parquet
file, or come once and be gone. Here thirty days of p(label | x) are written to a file and inferred
from there; then the same days are streamed, and the share of a class is watched from day to day.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from decoupling import StreamingInference, TransitionPrior, infer

CLASSES = ["spam", "mail"]
DAYS, ROWS = 30, 1000
rng = np.random.default_rng(0)

# %%
# A day of mail: the share of spam rises slowly, and of spam 15% is labelled as mail, of mail 5% as
# spam. What a good classifier of the labels would say is p(class | x) T, with a little error.

T = np.array([[0.85, 0.15], [0.05, 0.95]])
shares = 0.25 + 0.2 / (1 + np.exp(-(np.arange(DAYS) - 18) / 2))


def day(share: float) -> tuple[np.ndarray, float]:
    """Return p(label | x) of the rows of a day, and how much of it is spam."""
    is_spam = rng.random(ROWS) < share
    p_spam = np.where(is_spam, rng.beta(20, 1, ROWS), rng.beta(1, 20, ROWS))
    label_proba = np.column_stack([p_spam, 1 - p_spam]) @ T + rng.normal(0, 0.01, (ROWS, 2))
    label_proba = np.clip(label_proba, 1e-6, None)
    return label_proba / label_proba.sum(axis=1, keepdims=True), p_spam.mean()


days, truth = zip(*(day(share) for share in shares), strict=True)

# %%
# An audit of 200 mails of each class found 20% and 10% of wrong labels: that is the prior. To the
# file go columns with the names of the labels. ``infer`` takes its path, reads it block by block,
# and writes the classes in the same way.

prior = TransitionPrior.class_conditional_noise(CLASSES, [[0, 0.2], [0.1, 0]], strength=200)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "label_proba.parquet")
    table = pa.table(dict(zip(CLASSES, np.concatenate(days).T, strict=True)))
    pq.write_table(table, path)
    posterior = infer(path, prior)
    posterior.write(Path(folder, "class_proba.parquet"))
    print(pq.read_table(Path(folder, "class_proba.parquet")).slice(0, 3).to_pandas())
    in_file = posterior.transitions

# %%
# The stream sees each day once. After a day T is a little better, and the day's share of spam comes
# with an interval.

stream = StreamingInference(prior)
watched = []
for block in days:
    stream.partial_fit(block)
    lower, upper = stream.posterior_.transition_interval(0.9)
    today = stream.posterior_.predict(block)
    low, high = today.class_balance_interval(0.9)
    watched.append([stream.posterior_.transitions, lower, upper, today.class_balance, low, high])
found, lower, upper, share, low, high = (np.array(column) for column in zip(*watched, strict=True))
scores = {
    "file": float(np.abs(in_file - T).max()),
    "stream": float(np.abs(found[-1] - T).max()),
    "covered": float(np.mean((low[:, 0] <= truth) & (truth <= high[:, 0]))),
}
print("largest error of T: ", {name: round(scores[name], 3) for name in ("file", "stream")})

# %%
# Left, p(label “mail” | spam) as the stream goes on, with the answer of the file at its end. Right,
# spam by the day.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
x = np.arange(1, DAYS + 1)
left.plot(x, found[:, 0, 1], label="stream")
left.fill_between(x, lower[:, 0, 1], upper[:, 0, 1], alpha=0.25)
left.scatter(DAYS, in_file[0, 1], color="C1", zorder=3, label="file, all at once")
left.axhline(T[0, 1], color="black", linestyle=":", label="truth")
left.set(xlabel="day", ylim=(0, 0.3), title="spam that is labelled as mail, 90% intervals")
left.legend()
bars = [share[:, 0] - low[:, 0], high[:, 0] - share[:, 0]]
right.errorbar(x, share[:, 0], bars, fmt="o", markersize=3, label="stream")
right.plot(x, truth, color="black", linestyle=":", label="truth")
right.set(xlabel="day", ylim=(0, 0.6), title="share of spam, 90% intervals")
right.legend(loc="upper left")
for ax in (left, right):
    ax.yaxis.set_major_formatter("{x:.0%}")
plt.show()
