"""The record of the answer: intervals, label-conditional, draws, new rows."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from problems import random_problem
from scipy.stats import beta

from decoupling import IdentifiabilityWarning, TransitionPrior, infer
from decoupling.inference.math.expected_log import METHODS

DRAWN = random_problem(1, n_rows=60)


@pytest.fixture(scope="module")
def posterior():
    problem = random_problem(0, n_rows=30)
    mean = problem.concentration / problem.concentration.sum(axis=1, keepdims=True)
    mean[0, 3] = 0.0
    mean /= mean.sum(axis=1, keepdims=True)
    prior = TransitionPrior(
        mean, [20, np.inf, 20], classes=["a", "b", "c"], labels=[None, "x", "y", "z"]
    )
    return infer(problem.label_proba, prior)


def test_names_and_shapes(posterior):
    assert posterior.classes == ("a", "b", "c")
    assert posterior.labels == (None, "x", "y", "z")
    assert posterior.class_concentration.shape == (30, 3)
    assert posterior.transition_concentration.shape == (3, 4)
    np.testing.assert_allclose(posterior.class_proba.sum(axis=1), 1.0)
    np.testing.assert_allclose(posterior.transitions.sum(axis=1), 1.0)
    assert posterior.transitions[0, 3] == 0.0


def test_known_rows_are_infinite(posterior):
    theta = posterior.transition_concentration
    assert np.isinf(theta[1]).all()
    np.testing.assert_allclose(
        posterior.transitions[[0, 2]], theta[[0, 2]] / theta[[0, 2]].sum(1)[:, None]
    )


def test_the_record_is_immutable(posterior):
    with pytest.raises(dataclasses.FrozenInstanceError):
        posterior.evidence = 3.0
    with pytest.raises(ValueError, match="read-only"):
        posterior.class_concentration[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        posterior.trace.elbo[0] = 1.0


def test_intervals_are_beta_quantiles(posterior):
    problem = random_problem(0, n_rows=30)
    prior = infer(problem.label_proba, problem.concentration, learn_transitions=False)
    for concentration, interval in [
        (posterior.class_concentration, posterior.class_interval(0.8)),
        # A T that was not learned is its prior, and no class hangs on it.
        (prior.transition_concentration, prior.transition_interval(0.8)),
    ]:
        rest = concentration.sum(axis=1, keepdims=True) - concentration
        np.testing.assert_allclose(interval[0], beta.ppf(0.1, concentration, rest), rtol=1e-9)
        np.testing.assert_allclose(interval[1], beta.ppf(0.9, concentration, rest), rtol=1e-9)


def test_intervals_of_t_are_wider_than_given_the_classes(posterior):
    theta = posterior.transition_concentration[[0, 2]]
    rest = theta.sum(axis=1, keepdims=True) - theta
    lower, upper = (end[[0, 2]] for end in posterior.transition_interval(0.8))
    given = beta.ppf(0.9, theta, rest) - beta.ppf(0.1, theta, rest)
    possible = theta > 0
    assert ((upper - lower)[possible] > given[possible]).all()


def test_intervals_nest_and_hold_what_is_certain(posterior):
    narrow, wide = posterior.transition_interval(0.5), posterior.transition_interval(0.95)
    assert (wide[0] <= narrow[0]).all()
    assert (narrow[1] <= wide[1]).all()
    for end in wide:
        np.testing.assert_allclose(end[1], posterior.transitions[1])
        assert end[0, 3] == 0.0


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 90, np.nan, "a"])
def test_bad_level(posterior, level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        posterior.class_interval(level)


def test_label_conditional_is_bayes_rule(posterior):
    labels = np.arange(30) % 3
    conditional = posterior.label_conditional(labels)
    for i in (0, 1, 2, 29):
        joint = posterior.class_proba[i] * posterior.transitions[:, labels[i]]
        np.testing.assert_allclose(conditional[i], joint / joint.sum(), rtol=1e-12)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(29, dtype=int), "one entry per row"),
        (np.zeros(30), "integer columns"),
        (np.full(30, 4), r"labels: 4 at row 0 is not a column of label_proba \(30 such"),
        (np.full(30, -1), "labels: -1 at row 0"),
    ],
)
def test_bad_labels(posterior, labels, message):
    with pytest.raises(ValueError, match=message):
        posterior.label_conditional(labels)


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_label_that_no_class_can_emit():
    posterior = infer([[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match=r"labels: 1 at row 1 is a label that no class can emit"):
        posterior.label_conditional([0, 1])


def test_draws_have_the_moments_of_the_posterior(posterior):
    classes, transitions = posterior.draw(4000, random_state=0)
    assert classes.shape == (4000, 30, 3)
    assert transitions.shape == (4000, 3, 4)
    np.testing.assert_allclose(classes.sum(axis=2), 1.0)
    np.testing.assert_allclose(transitions.sum(axis=2), 1.0)
    np.testing.assert_allclose(classes.mean(axis=0), posterior.class_proba, atol=0.01)
    np.testing.assert_allclose(transitions.mean(axis=0), posterior.transitions, atol=0.01)
    lower, upper = posterior.transition_interval(0.9)
    inside = ((transitions >= lower) & (transitions <= upper)).mean(axis=0)
    # A row is drawn as wide as its widest entry.
    assert (inside[[0, 2]][:, :3] > 0.75).all()
    assert (inside[[0, 2]][:, :3] < 0.93).all()
    assert (transitions[:, 0, 3] == 0).all()
    assert (transitions[:, 1] == posterior.transitions[1]).all()


@pytest.mark.filterwarnings("ignore::decoupling.IdentifiabilityWarning")
def test_draws_are_reproducible_and_never_nan(posterior):
    for seed in (3, np.random.RandomState(3), np.random.default_rng(3)):
        assert np.isfinite(posterior.draw(2, seed)[0]).all()
    np.testing.assert_array_equal(posterior.draw(2, 5)[0], posterior.draw(2, 5)[0])
    tiny = infer([[0.5, 0.5]], [[1.0, 1.0], [1.0, 1.0]], class_prior=[1e-4, 1e-4], evidence=1e-4)
    assert np.isfinite(tiny.draw(500, 0)[0]).all()
    with pytest.raises(ValueError, match="n must be an integer, at least 1"):
        posterior.draw(0)


@pytest.mark.parametrize("method", METHODS)
def test_predicting_the_same_rows_is_the_same_answer(method):
    problem = random_problem(1, n_rows=25)
    posterior = infer(
        problem.label_proba, problem.concentration, evidence=5, expected_log=method, tol=1e-10,
        max_iter=5000,
    )  # fmt: skip
    again = posterior.predict(problem.label_proba, tol=1e-10, max_iter=5000)
    np.testing.assert_allclose(again.class_proba, posterior.class_proba, atol=1e-4)
    np.testing.assert_array_equal(again.transitions, posterior.transitions)
    np.testing.assert_allclose(
        again.transition_concentration, posterior.transition_concentration, rtol=1e-12
    )
    for a, b in zip(again.transition_interval(), posterior.transition_interval(), strict=True):
        np.testing.assert_array_equal(a, b)
    # The same rows and the same T: the share of a class is as uncertain.
    widths = (np.subtract(*p.class_balance_interval()[::-1]) for p in (again, posterior))
    ratio = np.divide(*widths)
    assert ((ratio > 0.5) & (ratio < 2.0)).all()


def test_predicting_a_row_does_not_depend_on_the_others():
    problem = random_problem(2, n_rows=25)
    posterior = infer(problem.label_proba, problem.concentration)
    few, many = problem.label_proba[:3], problem.label_proba
    options = {"tol": 1e-14, "max_iter": 5000}
    np.testing.assert_allclose(
        posterior.predict(few, **options).class_proba,
        posterior.predict(many, **options).class_proba[:3],
        atol=1e-6,
    )


def test_predict_refuses_other_labels(posterior):
    with pytest.raises(ValueError, match=r"label_proba has 2 columns, transitions has 4 labels"):
        posterior.predict([[0.5, 0.5]])


def test_copies_and_pickles_are_equal(posterior):
    for other in (copy.deepcopy(posterior), pickle.loads(pickle.dumps(posterior))):
        np.testing.assert_array_equal(other.class_concentration, posterior.class_concentration)
        np.testing.assert_array_equal(other.transitions, posterior.transitions)
        assert other.labels == posterior.labels


def test_t_is_no_surer_than_the_rows_behind_it():
    problem = random_problem(0)
    posterior = infer(problem.label_proba, problem.concentration)
    limited = posterior.supported_by([5.0, np.inf, 0.0])
    np.testing.assert_array_equal(limited.transitions, posterior.transitions)
    np.testing.assert_array_equal(limited.class_proba, posterior.class_proba)
    lost = posterior.transition_concentration.sum(axis=1)
    lost -= limited.transition_concentration.sum(axis=1)
    np.testing.assert_allclose(lost, [20.0 - 5.0, 0.0, 20.0 - 1.0], rtol=1e-6)
    wide, narrow = (np.subtract(*p.transition_interval()[::-1]) for p in (limited, posterior))
    assert (wide[[0, 2]] > narrow[[0, 2]]).all()
    assert wide[0].max() < 0.9
    # The share of a class follows.
    wide, narrow = (np.subtract(*p.class_balance_interval()[::-1]) for p in (limited, posterior))
    assert (wide > narrow).all()


# Diagnostics


def test_all_is_well():
    found = infer(DRAWN.label_proba, DRAWN.concentration).diagnostics
    assert found.light == "green"
    assert {reason.about for reason in found.reasons} == {
        "convergence",
        "identifiability",
        "collapse",
    }


def about(posterior, name):
    (reason,) = posterior.diagnostics.about(name)
    return reason.light, reason.text


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_run_that_was_cut_short():
    light, text = about(infer(DRAWN.label_proba, DRAWN.concentration, max_iter=2), "convergence")
    assert light == "amber"
    assert "had not converged after 2 iterations" in text


def test_labels_that_do_not_tell_classes_apart():
    for prior, message in [
        ([[5.0, 5.0], [5.0, 5.0]], "The prior says the same of 0, 1"),
        ([[50.0, 49.0], [49.0, 50.0]], "nearly the same labels"),
        ([[5.0, 1.0], [1.0, 5.0], [3.0, 4.0]], "hardly tell the classes apart"),
    ]:
        with pytest.warns(IdentifiabilityWarning, match=message):
            posterior = infer([[0.5, 0.5], [0.4, 0.6]], prior)
        assert about(posterior, "identifiability")[0] == "amber"


def test_classes_that_changed_places():
    with pytest.warns(IdentifiabilityWarning, match="changed places"):
        posterior = infer(
            np.tile([0.02, 0.98], (200, 1)),
            TransitionPrior([[0.51, 0.49], [0.5, 0.5]], [0.1, 1e4]),
            class_prior=[1.0, 1e-3],
        )
    assert about(posterior, "identifiability")[0] == "red"


def test_rows_that_nothing_moved():
    posterior = infer(DRAWN.label_proba, DRAWN.concentration, evidence=1e-4)
    light, text = about(posterior, "collapse")
    assert light == "red"
    assert "higher evidence" in text


def test_labels_that_the_task_does_not_expect():
    sure = TransitionPrior.semi_supervised(["a", "b"], labelled=0.05, strength=1000)
    posterior = infer([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]] * 50, sure)
    light, text = about(posterior, "task")
    assert light == "amber"
    assert "of the rows are" in text
    unsure = TransitionPrior.semi_supervised(["a", "b"], labelled=0.05, strength=2)
    posterior = infer([[0.5, 0.25, 0.25], [0.5, 0.5, 0.0], [0.5, 0.0, 0.5]] * 50, unsure)
    assert posterior.diagnostics.about("task") == ()


def test_probabilities_that_know_the_labels_by_heart():
    prior = TransitionPrior.noisy(["a", "b"], noise=0.3, strength=500)
    posterior = infer([[1.0, 0.0], [0.0, 1.0]] * 50, prior)
    light, text = about(posterior, "held out")
    assert light == "amber"
    assert "Predict out of fold" in text


def test_new_rows_have_their_own_diagnostics():
    posterior = infer(DRAWN.label_proba, DRAWN.concentration)
    new = posterior.predict(DRAWN.label_proba[:3])
    assert new.diagnostics.about("identifiability") == posterior.diagnostics.about(
        "identifiability"
    )
