"""T with the classes integrated out, against quadrature and differences."""

from dataclasses import replace

import numpy as np
import pytest
from problems import random_problem
from scipy.optimize import minimize

from decoupling import ClassPrior, Posterior, TransitionPrior, infer, load, save
from decoupling.inference.errors import integrated
from decoupling.inference.errors.drawn_rows import DrawnRows
from decoupling.inference.errors.integrated import inverse_root
from decoupling.inference.errors.log_transitions import Objective, Position
from decoupling.inference.errors.marginal import log_marginal, simplex_nodes
from decoupling.inference.math.intervals import interval_by_moments
from decoupling.inference.posterior import posterior_parts


def some_rows(n_draws, seed=0, n_rows=6):
    """Rows of a problem with three classes and four labels, and draws of their classes."""
    problem = random_problem(seed, n_rows=n_rows)
    weight = 12.0 * problem.label_proba
    gamma, counts = np.array([0.5, 0.3, 0.6]), np.linspace(0.5, 1.5, n_rows)
    concentration = gamma + 4.0 * np.ones((n_rows, 3))
    rng = np.random.default_rng(seed)
    rows = DrawnRows.of(weight, counts, concentration, gamma, problem.transitions, n_draws, rng)
    return rows, problem.transitions, gamma


def test_the_sum_is_that_of_quadrature():
    rows, transitions, gamma = some_rows(40_000)
    expected = log_marginal(transitions[None], rows.weight, rows.counts, simplex_nodes(gamma, 24))
    value, _ = rows.value(transitions)
    # The integrals are means over all draws; their number is left out.
    value -= rows.counts.sum() * np.log(rows.draws.shape[1])
    assert value == pytest.approx(expected[0], abs=0.05)


def test_slope_and_curvature_are_those_of_differences():
    rows, transitions, _ = some_rows(50)
    position = Position(transitions, np.ones(transitions.shape, dtype=bool))
    objective = Objective(position, rows, np.full(transitions.shape, 2.0))
    z, step = position.start, 1e-5
    slope, second = np.zeros(len(z)), np.zeros((len(z), len(z)))
    for k, move in enumerate(np.eye(len(z)) * step):
        (above, up), (below, down) = objective(z + move), objective(z - move)
        slope[k], second[k] = (above - below) / (2 * step), (up - down) / (2 * step)
    np.testing.assert_allclose(objective(z)[1], slope, rtol=1e-6, atol=1e-6)
    curvature = rows.curvature(transitions, np.full(6, 1 / 6))
    found = objective.precision(transitions, curvature)
    np.testing.assert_allclose(found, second, rtol=1e-5, atol=1e-4)
    assert 1.0 < curvature.effective < 50.0


def test_what_other_rows_would_have_said():
    """The pull of a row is how far T and the balance move if it counts for a little more."""
    rows, first, _ = some_rows(50)
    free = np.arange(12).reshape(first.shape) != 5
    position = Position(first, free)
    prior, share, step = np.where(free, 2.0, 0.0), rows.counts / rows.counts.sum(), 1e-2

    def at_maximum(more):
        counted = replace(rows, counts=rows.counts * more)
        objective = Objective(position, counted, prior)
        options = {"ftol": 0.0, "gtol": 1e-9}
        z = minimize(objective, position.start, jac=True, method="L-BFGS-B", options=options).x
        transitions = position.transitions(z)
        _, balance, _ = counted.with_balance(transitions, share * more / (share @ more), 6)
        return objective, transitions, balance

    objective, transitions, _ = at_maximum(np.ones(6))
    ends = [[at_maximum(1 + sign * row)[1:] for row in step * np.eye(6)] for sign in (-1, 1)]
    moves, shifts = (
        np.array([(up[k] - down[k]) / (2 * step) for down, up in zip(*ends, strict=True)])
        for k in (0, 1)
    )
    curvature = rows.curvature(transitions, share)
    root = inverse_root(objective.precision(transitions, curvature))
    as_one = root.T @ position.project(transitions)
    # Were each row twice there: their mean, too, which sampling leaves in place.
    for_t, for_balance = curvature.sampling_variance(as_one, 0.5)
    np.testing.assert_allclose(for_t, 0.5 * ((moves - moves.mean(0)) ** 2).sum(0), rtol=1e-3)
    slope = curvature.balance_by_logs @ (moves.mean(0) / transitions).ravel()
    np.testing.assert_allclose(for_balance, 0.5 * ((shifts - slope) ** 2).sum(0), rtol=1e-3)


def test_entries_that_cannot_vary_stay():
    first = np.array([[0.7, 0.3, 0.0], [0.1, 0.5, 0.4]])
    position = Position(first, np.array([[False] * 3, [True, True, False]]))
    np.testing.assert_allclose(position.transitions(position.start), first)
    moved = position.transitions(position.start + np.array([1.0, 0.0]))
    np.testing.assert_allclose(moved.sum(axis=1), 1.0)
    np.testing.assert_array_equal(moved[0], first[0])
    assert moved[1, 2] == 0.4
    assert moved[1, 0] > 0.1


def positive_unlabelled(n_kinds=12, seed=3):
    """Kinds of rows of which some positives are labelled."""
    rng = np.random.default_rng(seed)
    positive, rows = rng.beta(0.5, 0.5, n_kinds), np.full(n_kinds, 60)
    labelled = rng.binomial(rows, 0.3 * positive) / rows
    prior = TransitionPrior.positive_unlabelled(labelled=0.4, strength=10)
    proba = np.column_stack([1 - labelled, labelled])
    return infer(proba, prior, evidence=60.0, sample_weight=rows), prior, proba, rows


def test_a_single_rate_is_that_of_a_grid():
    posterior, prior, proba, rows = positive_unlabelled()
    rate = np.linspace(0.01, 0.99, 981)
    several = np.stack([np.tile([1.0, 0.0], (len(rate), 1)), np.stack([1 - rate, rate], 1)], 1)
    nodes = simplex_nodes(np.array(posterior.class_prior), 40)
    logs = log_marginal(several, 60.0 * proba, np.ones(len(rows)), nodes)
    a, b = prior.strength[1] * prior.mean[1, ::-1]
    logs += (a - 1) * np.log(rate) + (b - 1) * np.log1p(-rate)
    share = np.exp(logs - logs.max())
    share /= share.sum()
    mean = share @ rate
    sd = np.sqrt(share @ (rate - mean) ** 2)
    found = posterior.integrated(2000)
    assert found.transitions[1, 1] == pytest.approx(mean, abs=0.1 * sd)
    assert np.sqrt(found.transition_variance[1, 1]) == pytest.approx(sd, rel=0.1)
    low, high = found.transition_interval(0.9)
    ends = np.interp([0.05, 0.95], np.cumsum(share), rate)
    # A Beta distribution is less skewed than this posterior: its ends are a fifth of sd off.
    np.testing.assert_allclose([low[1, 1], high[1, 1]], ends, atol=0.25 * sd)
    # What the mean field has to say is another thing.
    assert abs(posterior.transitions[1, 1] - mean) > 0.5 * sd


def test_what_is_known_is_its_own_interval():
    posterior, *_ = positive_unlabelled()
    found = posterior.integrated(50)
    for end in found.transition_interval(0.9):
        np.testing.assert_array_equal(end[0], [1.0, 0.0])
    known = infer([[0.7, 0.3], [1.0, 0.0]] * 20, TransitionPrior([[1, 0], [0.5, 0.5]], np.inf))
    found = known.integrated(50)
    np.testing.assert_allclose(found.transitions, known.transitions)
    for end in found.transition_interval(0.9):
        np.testing.assert_allclose(end, known.transitions)
    low, high = found.class_balance_interval(0.9)
    assert ((0 <= low) & (low <= found.class_balance) & (found.class_balance <= high)).all()
    assert (high <= 1).all()


def test_the_same_seed_gives_the_same_bits():
    posterior, *_ = positive_unlabelled()
    one, other = posterior.integrated(50), posterior.integrated(50)
    np.testing.assert_array_equal(one.transitions, other.transitions)
    assert (posterior.integrated(50, random_state=1).transitions != one.transitions).any()


def test_no_rows_learned_from_leave_the_prior():
    prior = TransitionPrior.noisy(["a", "b"], noise=0.2, strength=20)
    posterior = infer(np.full((30, 2), 0.5), prior, transition_evidence=1e-6)
    found = posterior.integrated(50)
    np.testing.assert_allclose(found.transitions, prior.mean, atol=0.02)
    exact = prior.mean * (1 - prior.mean) / 21.0
    np.testing.assert_allclose(found.transition_variance, exact, rtol=0.25)


def test_balance_where_labels_are_classes():
    """The classes of a row are then a Dirichlet distribution, and its members are drawn from it."""
    proba = np.array([[0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
    posterior = infer(proba, TransitionPrior.supervised(["a", "b"]), evidence=6.0)
    found = posterior.integrated(4000)
    exact = posterior.class_prior + 6.0 * proba
    mean = exact / exact.sum(axis=1, keepdims=True)
    variance = mean * (1 - mean) / (exact.sum(axis=1, keepdims=True) + 1)
    np.testing.assert_allclose(found.class_balance, mean.mean(axis=0), atol=0.01)
    by_chance = (mean * (1 - mean) - variance).mean(axis=0) / 3
    expected = variance.sum(axis=0) / 9 + by_chance
    np.testing.assert_allclose(found.class_balance_variance, expected, rtol=0.05)


def test_curvature_where_draws_are_worth_too_little(monkeypatch):
    monkeypatch.setattr(integrated, "_ENOUGH", np.inf)
    prior = TransitionPrior.noisy(["a", "b"], noise=0.2, strength=100)
    found = infer(np.full((30, 2), 0.5), prior, transition_evidence=1e-6).integrated(50)
    exact = prior.mean * (1 - prior.mean) / 101.0
    np.testing.assert_allclose(found.transition_variance, exact, rtol=0.1)
    np.testing.assert_allclose(found.transitions, prior.mean, atol=1e-3)
    expected = interval_by_moments(found.transitions, found.transition_variance, 0.9)
    np.testing.assert_array_equal(found.transition_interval(0.9), expected)


def test_balance_where_draws_are_worth_too_little(monkeypatch):
    """With much data p(T) is normal, and so the curvature says all: the shares are the same."""
    posterior, *_ = positive_unlabelled(n_kinds=150)
    expected = posterior.integrated(400)
    assert expected.effective_transitions > 150
    monkeypatch.setattr(integrated, "_ENOUGH", np.inf)
    found = posterior.integrated(400)
    sd = np.sqrt(expected.class_balance_variance)
    np.testing.assert_allclose(found.class_balance, expected.class_balance, atol=0.2 * sd.max())
    np.testing.assert_allclose(np.sqrt(found.class_balance_variance), sd, rtol=0.08)


def test_rows_that_are_left_out_widen(monkeypatch):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.4, 0.4], 4000) @ [[0.8, 0.2], [0.2, 0.8]]
    posterior = infer(proba, TransitionPrior.noisy(["a", "b"], noise=0.2, strength=20))
    n_sample = len(posterior_parts(posterior).sample.share)
    assert n_sample < len(proba)
    wide = posterior.integrated(30)
    monkeypatch.setattr(Posterior, "_n_counting", n_sample)
    narrow = posterior.integrated(30)
    np.testing.assert_array_equal(wide.transitions, narrow.transitions)
    assert (wide.transition_variance > narrow.transition_variance).all()
    assert (wide.class_balance_variance > narrow.class_balance_variance).all()
    width, less = (np.subtract(*found.transition_interval(0.9)[::-1]) for found in (wide, narrow))
    np.testing.assert_allclose(
        width / less, np.sqrt(wide.transition_variance / narrow.transition_variance), rtol=1e-3
    )


def test_rows_without_weight_make_no_difference():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([0.4, 0.4], 60) @ [[0.8, 0.2], [0.2, 0.8]]
    prior = TransitionPrior.noisy(["a", "b"], noise=0.2, strength=20)
    weights = np.repeat([1.0, 0.0], 30)
    found, expected = infer(proba, prior, sample_weight=weights), infer(proba[:30], prior)
    one, other = found.integrated(30), expected.integrated(30)
    np.testing.assert_allclose(one.transition_interval(), other.transition_interval(), rtol=1e-6)
    np.testing.assert_allclose(
        one.class_balance_interval(), other.class_balance_interval(), rtol=1e-6
    )
    assert found.transition_k_hat == pytest.approx(expected.transition_k_hat, abs=1e-4)


ROWS = np.random.default_rng(0).dirichlet([0.4, 0.4], 40) @ [[0.8, 0.2], [0.2, 0.8]]
MANY = np.random.default_rng(0).dirichlet(np.ones(150), 42)
NOISY = TransitionPrior.noisy(["a", "b"], noise=0.2, strength=20)


@pytest.mark.filterwarnings("ignore:.*draws of the classes of a row")
@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
@pytest.mark.parametrize(
    ("rows", "prior", "options"),
    [
        (ROWS, TransitionPrior([[0.5, 0.5]], 10), {}),
        (np.ones((5, 1)), TransitionPrior([[1.0]], 10), {}),
        (ROWS[:1], NOISY, {}),
        (ROWS, NOISY, {"evidence": 1e-3}),
        (ROWS, NOISY, {"evidence": 1e6}),
        (ROWS, NOISY, {"evidence": np.logspace(-3, 5, 40)}),
        (ROWS, NOISY, {"sample_weight": np.logspace(-9, 6, 40)}),
        (ROWS, NOISY, {"transition_evidence": 1e6}),
        (ROWS, NOISY, {"class_prior": [1e-3, 1e-3]}),
        (ROWS, NOISY, {"class_prior": [1e-3, 1e3]}),
        (ROWS, NOISY, {"class_prior": ClassPrior.learned()}),
        (ROWS, NOISY, {"learn_transitions": False}),
        (ROWS, TransitionPrior.noisy(["a", "b"], noise=0.2, strength=1e-6), {}),
        (ROWS, TransitionPrior.noisy(["a", "b"], noise=0.2, strength=1e12), {}),
        (ROWS, TransitionPrior([[1, 0], [0, 1]], 10), {}),
        (ROWS, TransitionPrior([[1 - 1e-12, 1e-12], [0.2, 0.8]], 10), {}),
        (np.eye(2)[np.arange(40) % 2], NOISY, {}),
        (np.pad(ROWS, ((0, 0), (0, 1))), TransitionPrior([[0.8, 0.2, 0], [0.2, 0.8, 0]], 10), {}),
        (MANY[:40], TransitionPrior(MANY[40:], 20), {}),
    ],
    ids=[
        *("one class", "one class and label", "one row", "no evidence", "much evidence"),
        *("uneven evidence", "uneven weights", "strong rows", "sharp gamma", "uneven gamma"),
        *("learned gamma", "T not learned", "no prior", "all prior", "T known", "all but known"),
        *("hard labels", "a label of no class", "many labels"),
    ],
)
def test_corners(rows, prior, options):
    posterior = infer(rows, prior, **options)
    found = posterior.integrated(20)
    for mean, (low, high) in [
        (found.transitions, found.transition_interval(0.9)),
        (found.class_balance, found.class_balance_interval(0.9)),
    ]:
        assert ((low >= 0) & (low <= mean) & (mean <= high) & (high <= 1)).all()
        np.testing.assert_allclose(mean.sum(axis=-1), 1.0)
    assert found.transitions.shape == posterior.transitions.shape
    assert found.effective_draws >= 1
    tail = posterior.transition_k_hat
    assert tail is None or not np.isnan(tail)


def test_one_class_has_the_distribution_that_is_reported():
    posterior = infer(ROWS, TransitionPrior([[0.5, 0.5]], 10))
    assert posterior.transition_k_hat == -np.inf
    total = 10 + len(ROWS)
    np.testing.assert_allclose(posterior.integrated(20).transition_variance,
                               posterior.transitions.prod() / (total + 1), rtol=0.1)  # fmt: skip


def test_sources_that_are_not_in_memory(tmp_path):
    expected = infer(ROWS, NOISY).integrated(20)
    np.save(tmp_path / "rows.npy", ROWS)
    save(infer(ROWS, NOISY), tmp_path / "posterior.zip")
    for posterior in (
        infer(tmp_path / "rows.npy", NOISY),
        infer(iter([ROWS[:30], ROWS[30:]]), NOISY, scratch=tmp_path),
        load(tmp_path / "posterior.zip"),
    ):
        found = posterior.integrated(20)
        np.testing.assert_allclose(found.transitions, expected.transitions, rtol=1e-9)
        np.testing.assert_allclose(found.transition_interval(), expected.transition_interval())


def test_too_many_entries_are_refused_and_few_draws_owned_up_to():
    rows = np.random.default_rng(0).dirichlet(np.ones(301), 7)
    wide = infer(rows[:5], TransitionPrior(rows[5:], 20))
    with pytest.raises(ValueError, match="602 entries; classes can be integrated out for up to"):
        wide.integrated()
    with pytest.warns(UserWarning, match=r"1 draws .* Raise n_draws"):
        infer(ROWS, NOISY).integrated(1)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        infer(ROWS, NOISY).integrated(20).transition_interval(90)


def test_new_rows_have_no_say():
    posterior, *_ = positive_unlabelled()
    with pytest.raises(ValueError, match="T was learned elsewhere"):
        posterior.predict([[0.8, 0.2]]).integrated()
    with pytest.raises(ValueError, match="n_draws"):
        posterior.integrated(0)
