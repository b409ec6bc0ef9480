"""What a notebook shows: the diagram and T, whatever the labels are called."""

from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_iris

from decoupling import DecouplingClassifier, TransitionPrior, infer
from decoupling.classifier.notebook import transition_table

HOSTILE = ["</script><img onerror=x>", '"><b onclick=x>', "a\nb\u202ec"]


class Parsed(HTMLParser):
    """Tags, attributes and cells of a page."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.cells = [], set(), []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attributes)
        if tag in ("th", "td"):
            self.cells.append("")

    def handle_data(self, data):
        if self.cells:
            self.cells[-1] += data


def posterior_of(classes):
    n = len(classes)
    label_proba = 0.7 * np.eye(n) + 0.3 / n
    return infer(label_proba, TransitionPrior.noisy(classes, noise=0.2))


@pytest.fixture(scope="module")
def clf():
    X, y = load_iris(return_X_y=True)
    clf = DecouplingClassifier(task="noisy", noise=0.1, cv=3, rounds=0, random_state=0)
    return clf.fit(X, np.array(HOSTILE)[y])


def test_table_has_names_values_and_intervals():
    posterior = posterior_of(["cat", "dog"])
    lower, upper = posterior.transition_interval(0.9)
    cells = Parsed(transition_table(posterior)).cells
    assert cells[:4] == ["class", "cat", "dog", "cat"]
    assert cells[4] == f"{posterior.transitions[0, 0]:.2f}{lower[0, 0]:.2f}–{upper[0, 0]:.2f}"
    assert len(cells) == 9


def test_known_and_impossible_transitions_have_no_interval():
    prior = TransitionPrior(
        [[0.4, 0.6], [1.0, 0.0]], [np.inf, np.inf], classes=["yes", "no"], labels=[None, "yes"]
    )
    cells = Parsed(transition_table(infer([[0.5, 0.5], [1.0, 0.0]], prior))).cells
    assert cells == ["class", "unlabelled", "yes", "yes", "0.40", "0.60", "no", "1.00", "0.00"]


def test_large_tables_are_cut():
    page = transition_table(posterior_of(range(12)))
    assert Parsed(page).tags.count("td") == 100
    assert "10 of 12 classes and 10 of 12 labels" in page
    assert " of " not in transition_table(posterior_of(range(10)))


def test_labels_cannot_add_to_the_page():
    harmless = Parsed(transition_table(posterior_of(["a", "b", "c"])))
    hostile = Parsed(transition_table(posterior_of(HOSTILE)))
    assert hostile.tags == harmless.tags
    assert hostile.attributes == harmless.attributes
    assert hostile.cells[1:4] == ["</script><img onerror=x>", '"><b onclick=x>', r"a\nb\u202ec"]


def test_diagram_and_table_of_a_fitted_classifier(clf):
    page = clf._repr_html_()
    assert "DecouplingClassifier" in page
    assert page.endswith(transition_table(clf.posterior_))
    assert clf._repr_mimebundle_()["text/html"].count("<caption>p(label | class)") == 1
    parsed = Parsed(page)
    assert "onerror" not in parsed.attributes
    assert "img" not in parsed.tags


def test_no_table_before_fit():
    clf = DecouplingClassifier()
    assert "<caption>" not in clf._repr_html_()
    assert "<caption>" not in clf._repr_mimebundle_()["text/html"]


def test_text_display_is_left_alone(clf):
    with config_context(display="text"):
        assert set(clf._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(clf, "_repr_html_")
