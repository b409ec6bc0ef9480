"""Short texts on four topics, of which hockey is often filed under baseball, never the reverse.

Texts are drawn word by word from vocabularies; the two sports share many words. Decoupling takes
the list of texts with any text classifier, finds which topic is filed under which, and completes
the data many times over, to give the number of texts on each topic with an interval. True topics
make the labels at the start and score at the end; nothing in between sees them.

Run it with `python examples/class_conditional_text.py`.
"""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from decoupling import DecouplingClassifier, TransitionPrior
from decoupling.datasets import give_labels

COMMON = "the a of to in is that it for on with was be have this not but they from said".split()
SPORT = "team game player season score coach league fan win lost trade play playoffs".split()
SCIENCE = "study result data paper theory cause research test effect report model".split()
TOPICS = {
    "baseball": "pitcher inning bat hit base run catcher homer".split() + SPORT,
    "hockey": "goalie puck ice period skate goal rink penalty".split() + SPORT,
    "medicine": "doctor patient disease drug dose pain blood symptom".split() + SCIENCE,
    "space": "orbit launch moon rocket shuttle satellite mission nasa".split() + SCIENCE,
}
NOISE = [[0, 0, 0, 0], [0.3, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]  # hockey under baseball


def write(topic: str, rng: np.random.Generator) -> str:
    """Return a text of 10 to 30 words, of which about six in ten are common to all topics."""
    common = rng.random(rng.integers(10, 31)) >= 0.4
    return " ".join(rng.choice(COMMON if c else TOPICS[topic]) for c in common)


def main() -> dict[str, float]:
    """Write texts, file some wrongly, find out which, and return the scores."""
    rng = np.random.default_rng(0)
    true = rng.choice(list(TOPICS), size=1500)
    texts = [write(topic, rng) for topic in true]
    filing = TransitionPrior.class_conditional_noise(list(TOPICS), NOISE)
    given = give_labels(true, filing, random_state=rng)
    texts, new, given, _, true, true_new = train_test_split(texts, given, true, random_state=0)

    model = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=1000))
    naive = model.fit(texts, given).predict(new)
    task = "class-conditional-noise"
    clf = DecouplingClassifier(model, task=task, random_state=0).fit(texts, given)

    print("p(label | class)" + "".join(f"{name:>10}" for name in clf.labels_))
    for c, name in enumerate(clf.classes_):
        print(f"{name:<10}true  " + "".join(f"{p:>10.3f}" for p in filing.mean[c]))
        print(f"{'':<10}found " + "".join(f"{p:>10.3f}" for p in clf.transitions_[c]))

    issues = clf.label_issues()
    print("\ngiven     suggested   rows  expected wrong")
    for pair in issues.summary():
        print(f"{pair.given:<10}{pair.suggested:<10}{pair.rows:>6}{pair.expected_wrong:>16.1f}")

    # Complete the data 200 times: draw Y and T, then the class of each row given its label.
    Y, T = clf.posterior_.draw(200, random_state=0)
    W = Y * T[:, :, np.searchsorted(clf.labels_, given)].swapaxes(1, 2)  # (200, N, C)
    topics = rng.multinomial(1, W / W.sum(axis=2, keepdims=True))
    lower, middle, upper = np.quantile(topics.sum(axis=1), [0.05, 0.5, 0.95], axis=0)  # (C,)

    # From here on with the true topics.
    print("\nTexts on    filed  true  imputed, with 90% interval")
    for c, name in enumerate(clf.classes_):
        counts = f"{np.sum(given == name):>7}{np.sum(true == name):>6}{middle[c]:>9.0f}"
        print(f"{name:<10}{counts}  ({lower[c]:.0f} to {upper[c]:.0f})")
    print("The intervals take p(label | x) as given: the error of the classifier comes on top.")

    scores = {
        "precision": float(np.mean(given[issues.row] != true[issues.row])),
        "naive": float(np.mean(naive == true_new)),
        "decoupled": float(np.mean(clf.predict(new) == true_new)),
        "transition_error": float(np.abs(clf.transitions_ - filing.mean).max()),
    }
    print(f"\nOf {len(issues)} rows listed {scores['precision']:.0%} are filed wrongly, ", end="")
    print(f"of all {len(given)} rows {np.sum(given != true)}.")
    print(f"Accuracy on new texts: {scores['naive']:.3f} before, {scores['decoupled']:.3f} after")
    return scores


if __name__ == "__main__":
    main()
