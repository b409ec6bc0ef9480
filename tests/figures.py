"""Posteriors to draw, and what a figure must not do."""

import numpy as np

from decoupling import TransitionDisplay, TransitionPrior, infer

# Formulae, markup, breaks, control and direction marks, blanks, other scripts, and sheer length.
HOSTILE = [
    "$x_",
    "\\frac{",
    "[red]",
    "two\nlines",
    "\u202eevil\x1b[31m\x00",
    "",
    "_hidden",
    "</script>",
    "עברית",
    "a name of many letters " * 50 + "1",
    "a name of many letters " * 50 + "2",
]


def noisy(classes, noise=0.2, labelled=0.7, copies=20):
    """Posterior of rows of every class, with unlabelled as the first label."""
    n = len(classes)
    rng = np.random.default_rng(0)
    wrong = rng.dirichlet(np.full(n, 0.3), n)
    T = labelled * ((1 - noise) * np.eye(n) + noise * wrong)
    T = np.hstack([np.full((n, 1), 1 - labelled), T])
    prior = TransitionPrior(0.9 * T + 0.1 / (n + 1), 50.0, classes=classes, labels=[None, *classes])
    return infer(np.repeat(T, copies, axis=0), prior)


def spread(n_classes, **options):
    """Display of a T of many classes, which would take long to infer."""
    T = np.random.default_rng(0).dirichlet(np.full(n_classes, 0.1), n_classes)
    T = 0.7 * np.eye(n_classes) + 0.3 * T
    lower, upper = 0.8 * T, 0.8 * T + 0.2
    names = range(n_classes)
    return TransitionDisplay(T, lower, upper, names, names).plot(**options)


def assert_nothing_is_cut(figure):
    """All text lies inside the figure once it is drawn, to half a pixel."""
    figure.draw_without_rendering()
    box = figure.get_tightbbox().transformed(figure.dpi_scale_trans)
    assert box.x0 >= figure.bbox.x0 - 0.5
    assert box.y0 >= figure.bbox.y0 - 0.5
    assert box.x1 <= figure.bbox.x1 + 0.5
    assert box.y1 <= figure.bbox.y1 + 0.5


def names_of(axis):
    return [text.get_text() for text in axis.get_ticklabels()]
