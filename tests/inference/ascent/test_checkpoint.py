"""Interrupted runs go on to the same bits."""

import json
from dataclasses import replace

import numpy as np
import pytest
from problems import random_problem

from decoupling import ClassPrior, infer
from decoupling.inference.ascent import ascend, row_steps, shared_steps

DRAWN = random_problem(0, n_rows=200)
OPTIONS = {"evidence": 30.0, "block_size": 37, "tol": 1e-9}


def run(folder=None, rows=DRAWN.label_proba, **options):
    return infer(rows, DRAWN.concentration, checkpoint=folder, **(OPTIONS | options))


class PowerCut(RuntimeError):  # noqa: N818
    """The power fails."""


def interrupt_at(iteration):
    def callback(done, terms):
        if done == iteration:
            raise PowerCut

    return callback


def assert_same(found, expected):
    np.testing.assert_array_equal(found.class_concentration, expected.class_concentration)
    np.testing.assert_array_equal(found.transitions, expected.transitions)
    np.testing.assert_array_equal(found.class_prior, expected.class_prior)
    np.testing.assert_array_equal(found.trace.elbo, expected.trace.elbo)
    assert found.trace.stopped_because == expected.trace.stopped_because


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"class_prior": ClassPrior.learned()},
        {"learn_transitions": False, "tol": 1e-13},
        {"local_steps": 3},
        {"sample_weight": np.linspace(0.5, 2.0, 200)},
    ],
    ids=["bound", "gamma learned", "T known", "local steps", "weights"],
)
@pytest.mark.parametrize("where", ["memory", "disk"])
def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path, options, where):
    np.save(tmp_path / "rows.npy", DRAWN.label_proba)
    rows = tmp_path / "rows.npy" if where == "disk" else DRAWN.label_proba
    folder = tmp_path / "checkpoint"
    expected = run(rows=rows, **options)
    last = expected.trace.n_iter - 2
    assert last >= 3
    for iteration in (0, 2, last):
        with pytest.raises(PowerCut):
            run(folder, rows, callback=interrupt_at(iteration), **options)
        assert len(list(folder.glob("round-*.npz"))) == iteration
    assert_same(run(folder, rows, **options), expected)
    # A run that has ended is there again at once, with the same answer.
    assert_same(run(folder, rows, **options), expected)


def test_more_rounds_than_are_replayed_at_a_time(tmp_path, monkeypatch):
    # Few at a time, since rounding decides how long a run goes on once it has arrived.
    monkeypatch.setattr(ascend, "_REPLAYED_TOGETHER", 4)
    expected = run()
    assert expected.trace.n_iter > 12
    with pytest.raises(PowerCut):
        run(tmp_path / "c", callback=interrupt_at(10))
    assert_same(run(tmp_path / "c"), expected)


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
def test_a_run_that_ended_early_may_be_given_more_iterations(tmp_path):
    expected = run()
    run(tmp_path / "c", max_iter=3)
    assert_same(run(tmp_path / "c"), expected)


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
def test_no_more_rounds_than_are_asked_for(tmp_path):
    run(tmp_path / "c")
    for most in (0, 1, 3):
        assert_same(run(tmp_path / "c", max_iter=most), run(max_iter=most))


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
@pytest.mark.parametrize("gamma", [None, ClassPrior.learned()], ids=["known", "learned"])
def test_where_a_run_began_is_a_part_of_it(tmp_path, gamma):
    first = run(max_iter=2, evidence=5.0, class_prior=gamma)
    expected = run(warm_start=first, class_prior=gamma)
    with pytest.raises(PowerCut):
        run(tmp_path / "c", warm_start=first, class_prior=gamma, callback=interrupt_at(3))
    for other in (None, run(max_iter=3, evidence=5.0, class_prior=gamma)):
        with pytest.raises(ValueError, match="with other settings"):
            run(tmp_path / "c", warm_start=other, class_prior=gamma)
    assert_same(run(tmp_path / "c", warm_start=first, class_prior=gamma), expected)


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    folder = tmp_path / "c"
    run(folder)
    other = DRAWN.label_proba.copy()
    other[[0, 1]] = other[[1, 0]]
    message = "is of other rows, in other blocks, or with other settings"
    for changed in [
        {"rows": other},
        {"block_size": 50},
        {"evidence": 31.0},
        {"tol": 1e-8},
        {"local_steps": 2},
        {"class_prior": ClassPrior.learned()},
        {"class_prior": ClassPrior.symmetric(2.0)},
        {"learn_transitions": False},
        {"transition_evidence": 2.0},
        {"sample_weight": np.full(200, 2.0)},
    ]:
        with pytest.raises(ValueError, match=message):
            run(folder, **changed)
    header = json.loads((folder / "problem.json").read_text())
    for name, value, message in [
        ("decoupling", "0.0.1", "was made by version 0.0.1"),
        ("format", 99, "is of another format"),
    ]:
        (folder / "problem.json").write_text(json.dumps({**header, name: value}))
        with pytest.raises(ValueError, match=message):
            run(folder)
    (folder / "problem.json").write_text("{")
    with pytest.raises(ValueError, match=r"cannot be read\. Remove its folder"):
        run(folder)


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear")
    with pytest.raises(ValueError, match="holds something else"):
        run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(NotADirectoryError, match=r"letter\.txt"):
        run(tmp_path / "letter.txt")


def test_a_run_that_was_killed_as_it_began(tmp_path):
    (tmp_path / ".problem.123.part.json").write_text("{")
    assert_same(run(tmp_path), run())


def test_a_broken_round_is_named(tmp_path):
    run(tmp_path / "c")
    path = tmp_path / "c" / "round-00002.npz"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"round-00002\.npz cannot be read"):
        run(tmp_path / "c")


def test_only_the_default_method_has_checkpoints(tmp_path):
    for options in ({"expected_log": "beta"}, {"optimiser": "l-bfgs"}):
        with pytest.raises(ValueError, match='with expected_log="bound" and optimiser="natural"'):
            run(tmp_path / "c", **options)
    with pytest.raises(ValueError, match="local_steps are those of"):
        run(optimiser="l-bfgs", local_steps=2)
    assert not (tmp_path / "c").exists()


class Fault:
    """A kernel that hands out a NaN once, at one of its calls."""

    def __init__(self, kernel, at, spoil):
        self.kernel, self.left, self.spoil = kernel, at, spoil

    def __call__(self, *args, **kwargs):
        found = self.kernel(*args, **kwargs)
        self.left -= 1
        return self.spoil(found) if self.left == 0 else found


def spoilt_counts(found):
    counts = found.transition_statistic.copy()
    counts.flat[0] = np.nan
    return replace(found, transition_statistic=counts)


def spoilt_bound(found):
    return replace(found, before=replace(found.before, likelihood=np.nan))


@pytest.mark.parametrize("spoil", [spoilt_counts, spoilt_bound], ids=["T", "bound"])
@pytest.mark.parametrize("gamma", [None, ClassPrior.learned()], ids=["known", "learned"])
def test_a_nan_in_mid_run_stops_it_and_leaves_the_last_good_state(
    tmp_path, monkeypatch, spoil, gamma
):
    """As of a chip that fails: the run goes on from the checkpoint to the same bits."""
    expected = run(class_prior=gamma)
    kernel, calls = row_steps.coordinate_step, 4 * len(range(0, 200, OPTIONS["block_size"])) + 2
    with monkeypatch.context() as broken:
        broken.setattr(row_steps, "coordinate_step", Fault(kernel, calls, spoil))
        last = 3 if spoil is spoilt_bound else 4
        with pytest.raises(
            FloatingPointError, match=rf"max_iter={last} gives the last good"
        ) as told:
            run(tmp_path / "c", class_prior=gamma, n_threads=1)
    assert (
        f"after iteration {last + 1}, where the bound was {expected.trace.elbo[last]:.6g}"
        in str(told.value)
    )
    kept = sorted((tmp_path / "c").glob("round-*.npz"))
    assert len(kept) == 4
    for path in kept:
        with np.load(path) as arrays:
            assert all(np.isfinite(arrays[name]).all() for name in arrays)
    assert_same(run(tmp_path / "c", class_prior=gamma), expected)


@pytest.mark.parametrize("optimiser", ["natural", "l-bfgs"])
def test_a_nan_at_the_start_is_told(monkeypatch, optimiser):
    total = shared_steps.total_terms

    def spoilt(*args):
        return replace(total(*args), entropy=np.nan)

    monkeypatch.setattr(shared_steps, "total_terms", spoilt)
    with pytest.raises(FloatingPointError, match="no number for the bound at the start"):
        run(optimiser=optimiser, max_iter=0)
