"""p(label | x), options and files that make `infer` answer wrongly, or in the words of others."""

import errno
import shutil
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from decoupling import ReliabilityDisplay, StreamingInference, TransitionPrior, infer
from decoupling.inference.ascent import elbo
from decoupling.inference.ascent.terms import Terms
from decoupling.inference.math.dirichlet import DirichletRows
from decoupling.inference.rows.storage import _write_npy

NAMES = ["ant", "bee", "cow"]
OTHER = ["cow", "bee", "ant"]


@pytest.fixture
def named():
    """p(label | x) of 200 rows with other shares of each label, its columns in another order."""
    proba = np.random.default_rng(0).dirichlet([1.0, 2.0, 6.0], 200)
    return pytest.importorskip("pandas").DataFrame(proba, columns=NAMES)[OTHER]


@pytest.fixture
def noisy():
    return TransitionPrior.noisy(NAMES, noise=0.2, strength=100)


def as_arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def as_polars(frame):
    return pytest.importorskip("polars").DataFrame(dict(frame.items()))


def as_dataset(frame):
    pytest.importorskip("pyarrow")
    from pyarrow import dataset

    return dataset.dataset(as_arrow(frame))


def in_blocks(frame):
    return (frame.iloc[i : i + 70] for i in range(0, len(frame), 70))


BY_NAME = {
    "frame": lambda frame: frame,
    "polars": as_polars,
    "table": as_arrow,
    "blocks": in_blocks,
    "blocks of polars": lambda frame: map(as_polars, in_blocks(frame)),
    "batches": lambda frame: iter(as_arrow(frame).to_batches(max_chunksize=70)),
    "reader": lambda frame: as_arrow(frame).to_reader(max_chunksize=70),
}


# -------------------------------------------------------------------------------- columns


def answers(label_proba, prior):
    """What each way to infer makes of the same rows; ``label_proba`` gives them anew."""
    learned = infer(np.full((5, 3), 1 / 3), prior)
    return [
        infer(label_proba(), prior),
        StreamingInference(prior).partial_fit(label_proba()).posterior_,
        learned.predict(label_proba()),
    ]


@pytest.mark.parametrize("kind", BY_NAME)
def test_d06_columns_go_by_name_wherever_rows_come_from(named, noisy, kind):
    rows = named[NAMES].to_numpy()
    by_place = answers(lambda: rows, noisy)
    by_name = answers(lambda: BY_NAME[kind](named), noisy)
    for expected, found in zip(by_place, by_name, strict=True):
        np.testing.assert_allclose(found.class_balance, expected.class_balance, rtol=1e-12)
        np.testing.assert_allclose(found.transitions, expected.transitions, rtol=1e-12)


@pytest.mark.parametrize("kind", BY_NAME)
def test_d06_columns_of_no_label_are_refused(named, noisy, kind):
    strange = named.set_axis(["cow", "bee", "dog"], axis=1)
    for use in (lambda X: infer(X, noisy), StreamingInference(noisy).partial_fit):
        with pytest.raises(ValueError, match=r"missing: 'ant'; extra: 'dog'"):
            use(BY_NAME[kind](strange))


def test_d06_every_block_has_names_of_its_own(named, noisy):
    mixed = [named.iloc[:70], named[NAMES].iloc[70:140], named[NAMES].iloc[140:].to_numpy()]
    expected = infer(named[NAMES].to_numpy(), noisy)
    np.testing.assert_allclose(infer(iter(mixed), noisy).class_proba, expected.class_proba)
    mixed[1] = named.iloc[70:140].rename(columns={"bee": "Bee"})
    with pytest.raises(ValueError, match="label_proba, block 1: its columns are not the labels"):
        infer(iter(mixed), noisy)


def test_d06_a_dataset_is_read_in_the_order_that_it_has(named, noisy):
    in_order = infer(as_dataset(named[NAMES]), noisy)
    np.testing.assert_allclose(
        in_order.class_balance, infer(named, noisy).class_balance, rtol=1e-12
    )
    for use in (lambda X: infer(X, noisy), StreamingInference(noisy).partial_fit):
        with pytest.raises(ValueError, match="columns of the dataset are cow, bee, ant, and"):
            use(as_dataset(named))


def test_d06_a_stream_that_was_refused_goes_on_as_before(named, noisy):
    stream = StreamingInference(noisy).partial_fit(named[:100])
    with pytest.raises(ValueError, match="its columns are not the labels"):
        stream.partial_fit(named.set_axis(list("xyz"), axis=1))
    same = StreamingInference(noisy).partial_fit(named[:100])
    for each in (stream, same):
        each.partial_fit(named[100:])
    np.testing.assert_array_equal(stream.posterior_.transitions, same.posterior_.transitions)


@pytest.mark.parametrize("kind", ["frame", "polars", "table"])
def test_d06_columns_of_a_figure(named, kind):
    classes = np.array(NAMES)[named[NAMES].to_numpy().argmax(axis=1)]
    expected = ReliabilityDisplay.from_predictions(classes, named[NAMES].to_numpy())
    for options in ({}, {"classes": NAMES}):
        found = ReliabilityDisplay.from_predictions(classes, BY_NAME[kind](named), **options)
        np.testing.assert_allclose(found.accuracy, expected.accuracy)
    other = named.set_axis(["p1", "p2", "p3"], axis=1)[["p3", "p2", "p1"]]  # names of no class
    found = ReliabilityDisplay.from_predictions(classes, BY_NAME[kind](other))
    np.testing.assert_allclose(found.accuracy, expected.accuracy)


# -------------------------------------------------------------------------------- options


@pytest.mark.parametrize("value", ["false", "no", "", None, 2, 0.5])
def test_d14_learn_transitions_is_true_or_false(problem, value):
    with pytest.raises(ValueError, match="learn_transitions must be True or False; got"):
        infer(problem.label_proba, problem.concentration, learn_transitions=value)


@pytest.mark.parametrize("value", ["1", b"1", "auto"], ids=repr)
def test_d14_evidence_of_transitions_is_a_number(problem, value):
    for use in (infer, lambda proba, prior, **options: StreamingInference(prior, **options)):
        with pytest.raises(ValueError, match="transition_evidence must be a number; got the text"):
            use(problem.label_proba, problem.concentration, transition_evidence=value)


# ---------------------------------------------------------------------------- words of others


@pytest.mark.parametrize("value", [None, {"ant": [1.0]}, {1.0}, object(), (x for x in ())])
def test_d19_what_is_no_array(noisy, value):
    told = "label_proba (must be an array of numbers; got|is empty)"
    learned = infer(np.full((5, 3), 1 / 3), noisy)
    uses = [lambda X: infer(X, noisy), StreamingInference(noisy).partial_fit, learned.predict]
    for use in uses:
        with pytest.raises(ValueError, match=told):
            use(value)
    with pytest.raises(ValueError, match="evidence must be an array of numbers; got None"):
        infer(np.full((5, 3), 1 / 3), noisy, evidence=None)


def test_d19_one_number_of_another_type(problem):
    same = infer(problem.label_proba, problem.concentration, transition_evidence=2.0)
    found = infer(problem.label_proba, problem.concentration, transition_evidence=Decimal(2))
    np.testing.assert_array_equal(found.transitions, same.transitions)


@pytest.mark.parametrize("seed", range(3))
def test_d20_intervals_of_labels_that_have_all_of_their_class(seed):
    """Concentrations of 1e-18 for many classes, of which one label takes next to everything."""
    rng = np.random.default_rng(seed)
    concentration = rng.dirichlet(np.ones(2), 200) * 1e-18
    with pytest.warns(UserWarning, match="Labels hardly tell the classes apart"):
        found = infer(rng.dirichlet(np.ones(2), 60), concentration)
    lower, upper = found.transition_interval()
    assert ((lower >= 0) & (lower <= upper) & (upper <= 1)).all()
    low, high = found.class_balance_interval()
    assert (low <= high).all()


@pytest.mark.filterwarnings("ignore:Stopped at max_iter=3")
def test_d20_every_damage_of_a_checkpoint(problem, tmp_path):
    """A byte of the last file is changed, wherever it is: refused by name, or the same answer."""
    options = {"checkpoint": tmp_path / "kept", "max_iter": 3, "tol": 0.0}
    expected = infer(problem.label_proba, problem.concentration, **options)
    (path,) = (tmp_path / "kept").glob("round-00002.npz")
    good = path.read_bytes()
    refusals = 0
    for place in range(len(good)):
        damaged = bytearray(good)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        try:
            found = infer(problem.label_proba, problem.concentration, **options)
        except ValueError as error:
            assert "round-00002.npz cannot be read" in str(error)  # noqa: PT017
            refusals += 1
            continue
        np.testing.assert_array_equal(found.transitions, expected.transitions)
    assert refusals > len(good) / 2
    shutil.rmtree(tmp_path / "kept")


# ------------------------------------------------------------------------------ full disks


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a file for which there is no room")
@pytest.mark.parametrize("kind", ["iterator", "answer"])
def test_d08_a_full_disk_is_named(problem, monkeypatch, kind):
    """NumPy says how many entries were written, and not that the disk is full."""
    rows = np.tile(problem.label_proba, (500, 1))

    @contextmanager
    def full(*arguments, **options):
        with open("/dev/full", "w+b") as file:
            yield file

    if kind == "iterator":
        monkeypatch.setattr("decoupling.inference.rows.storage.tempfile.TemporaryFile", full)
        with pytest.raises(OSError, match=r"to write \S+: [\d.]+ MB are free"):
            infer(iter([rows]), problem.concentration)
    else:
        with pytest.raises(OSError, match="No space left") as caught:
            _write_npy(Path("/dev/full"), [rows], rows.shape)
        assert caught.value.errno == errno.ENOSPC


# ---------------------------------------------------------------------------------- bound


@pytest.mark.parametrize("strength", [1e-12, 1e-6, 1e-3, 1.0])
@pytest.mark.filterwarnings("ignore")  # that labels hardly tell the classes apart
def test_d21_tiny_concentrations_leave_the_bound_its_digits(strength):
    """A label that nobody has, with p = 1e-12: its E[ln T] is as far from 0 as 1e24."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        proba, mean = rng.dirichlet([0.5] * 4, 20), rng.dirichlet([0.5] * 4, 3)
        proba[:, 0], mean[:, 0] = 0.0, 1e-12
        proba, mean = (p / p.sum(axis=1, keepdims=True) for p in (proba, mean))
        trace = infer(proba, mean * strength).trace
        assert trace.fall <= 1e-9 * np.abs(trace.elbo).max()
        assert "fell by" not in trace.convergence.text


def test_d21_prior_and_entropy_cancel_exactly_where_q_is_p():
    rows = DirichletRows.of_means(np.array([[1e-12, 0.5, 0.5]]), np.array([1e-6]))
    terms = elbo.transition_terms(rows, rows) + Terms(likelihood=-681.6)
    assert abs(terms.entropy) > 1e12
    assert terms.elbo == pytest.approx(-681.6, abs=1e-9)
