"""Rows that are seen once, a block at a time."""

import numpy as np
import pytest
from problems import in_blocks, random_problem

from decoupling import ClassPrior, StreamingInference, TransitionPrior, infer
from decoupling.inference import streaming
from decoupling.inference.ascent import shared_steps
from decoupling.inference.ascent.ascend import ascend
from decoupling.inference.ascent.start import start_classes
from decoupling.inference.ascent.state import AscentOptions, State
from decoupling.inference.math.bound import Bound
from decoupling.inference.posterior import posterior_parts

N_ROWS = 20_000
DRAWN = random_problem(0, n_rows=N_ROWS)


def streamed(block, **options):
    stream = StreamingInference(DRAWN.concentration, **options)
    for i in range(0, N_ROWS, block):
        assert stream.partial_fit(DRAWN.label_proba[i : i + block]) is stream
    return stream


def bound(transitions, batch, evidence):
    """The bound over all rows once they have settled under these transitions."""
    gamma, prior = np.full(3, 1 / 3), posterior_parts(batch).transition_prior
    options = {"evidence": evidence, "block_size": 5000}
    problem, blocks = in_blocks(DRAWN.label_proba, prior, gamma, **options)
    state, method = State(transitions, problem.class_prior), Bound(transitions)
    with blocks:
        start_classes(problem, method, blocks, learn_transitions=False)
        ascend(problem, state, method, blocks, AscentOptions(False, max_iter=500, tol=1e-9))
        return shared_steps.total_terms(problem, state, method, blocks).elbo


@pytest.mark.parametrize("evidence", [1.0, 100.0])
def test_one_pass_ends_within_a_hundredth_of_the_batch(evidence):
    batch = infer(DRAWN.label_proba, DRAWN.concentration, evidence=evidence, tol=1e-8)
    best = bound(posterior_parts(batch).transitions, batch, evidence)
    start = bound(posterior_parts(batch).transition_prior, batch, evidence)
    for block in (200, 5000):
        stream = streamed(block, evidence=evidence)
        found = bound(posterior_parts(stream.posterior_).transitions, batch, evidence)
        assert (best - found) < 0.01 * abs(best)
        # Its prior alone is much further from there.
        assert (best - found) < 0.2 * (best - start)


def test_a_single_block_counts_in_full():
    stream = StreamingInference(DRAWN.concentration, evidence=5.0, max_iter=500)
    stream.partial_fit(DRAWN.label_proba[:500])
    total = posterior_parts(stream.posterior_).transitions.parameters.sum()
    assert total == pytest.approx(5.0 * DRAWN.concentration.sum() + 5.0 * 500, rel=1e-9)
    assert stream.n_rows_seen_ == 500


def test_without_forgetting_all_rows_count_alike():
    even = streamed(4000, evidence=1.0, forgetting=1.0).posterior_
    total = posterior_parts(even).transitions.parameters.sum() - DRAWN.concentration.sum()
    assert total == pytest.approx(N_ROWS, rel=1e-9)


def test_rows_of_the_last_block_stand_for_all():
    posterior = streamed(5000, evidence=1.0).posterior_
    assert posterior.class_concentration.shape == (5000, 3)
    assert posterior.row_counts.sum() == pytest.approx(N_ROWS)
    # Intervals are those of four times the rows: about half as wide.
    fewer = StreamingInference(DRAWN.concentration, evidence=1.0)
    fewer = fewer.partial_fit(DRAWN.label_proba[-5000:]).posterior_
    wide, narrow = (np.subtract(*p.transition_interval()) for p in (fewer, posterior))
    assert 1.5 < np.median(wide / narrow) < 2.5
    new = posterior.predict(DRAWN.label_proba[:10]).class_proba
    np.testing.assert_allclose(new.sum(axis=1), 1.0)


def test_gamma_is_learned_on_the_way():
    options = {"class_prior": ClassPrior.learned(), "evidence": 100.0}
    batch = infer(DRAWN.label_proba, DRAWN.concentration, **options)
    found = streamed(1000, **options).posterior_
    # It began at a third each, and has gone most of the way.
    left = np.abs(found.class_prior - batch.class_prior)
    assert (left < 0.3 * np.abs(1 / 3 - batch.class_prior)).all()


def test_weights_and_other_sources(tmp_path):
    rows = DRAWN.label_proba[:600]
    doubled = StreamingInference(DRAWN.concentration, evidence=1.0)
    doubled.partial_fit(rows, sample_weight=np.full(600, 2.0))
    twice = StreamingInference(DRAWN.concentration, evidence=1.0)
    twice.partial_fit(np.concatenate([rows, rows]))
    np.testing.assert_allclose(
        doubled.posterior_.transitions, twice.posterior_.transitions, rtol=1e-6
    )
    np.save(tmp_path / "rows.npy", np.concatenate([rows, rows]))
    mapped = StreamingInference(DRAWN.concentration, evidence=1.0)
    mapped.partial_fit(tmp_path / "rows.npy")
    np.testing.assert_allclose(
        mapped.posterior_.transitions, twice.posterior_.transitions, rtol=1e-9
    )


def test_labels_that_are_never_seen_and_known_rows():
    prior = TransitionPrior([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0]], [np.inf, 10.0])
    positive = np.random.default_rng(0).beta(0.2, 0.2, 6000)
    rows = np.column_stack([1 - 0.5 * positive, 0.5 * positive, np.zeros(6000)])
    stream = StreamingInference(prior)
    for i in range(0, 6000, 300):
        stream.partial_fit(rows[i : i + 300])
    np.testing.assert_array_equal(stream.posterior_.transitions[0], [1.0, 0.0, 0.0])
    batch = infer(rows, prior).transitions
    np.testing.assert_allclose(stream.posterior_.transitions, batch, atol=0.01)
    assert batch[1, 1] > 0.45


def test_a_bad_block_changes_nothing():
    stream = StreamingInference(DRAWN.concentration, evidence=1.0)
    stream.partial_fit(DRAWN.label_proba[:100])
    before = stream.posterior_
    bad = DRAWN.label_proba[100:200].copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="nan at row 3, column 1"):
        stream.partial_fit(bad)
    assert stream.posterior_ is before
    assert stream.n_rows_seen_ == 100


def test_a_block_that_fails_at_the_very_end_changes_nothing(monkeypatch):
    stream = StreamingInference(DRAWN.concentration, evidence=1.0)
    stream.partial_fit(DRAWN.label_proba[:100])
    before = dict(vars(stream))

    def lost(*_, **__):
        raise OSError("the worker is gone")

    monkeypatch.setattr(streaming, "record", lost)
    with pytest.raises(OSError, match="the worker is gone"):
        stream.partial_fit(DRAWN.label_proba[100:200])
    assert vars(stream) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forgetting": 0.5}, "forgetting must be above 0.5"),
        ({"forgetting": "much"}, "forgetting must be above 0.5"),
        ({"evidence": [1.0, 2.0]}, "evidence must be a number"),
        ({"evidence": "lots"}, 'evidence must be "auto"'),
        ({"max_iter": 0}, "max_iter must be an integer"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        StreamingInference(DRAWN.concentration, **options)
