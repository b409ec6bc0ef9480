import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from decoupling import ClassPrior, TransitionPrior
from decoupling.classifier.fit_input import (
    check_chunks,
    check_every_label,
    expected_shares,
    known_rows,
    possible_codes,
    prefit_columns,
    task_of,
)
from decoupling.classifier.options import is_prefit, known_noise
from decoupling.fits.given_rows import GivenRows
from decoupling.labels.observed import read_labels
from decoupling.transitions.tasks import (
    complementary,
    multi_positive_unlabelled,
    noisy,
    semi_supervised,
)

OPTIONS = {"negative": "negative", "noise": None, "labelled": None, "unlabelled": None}


def test_a_row_without_a_weight_counts_once():
    codes = np.array([0, 1])
    np.testing.assert_array_equal(GivenRows(None, codes).counts, [1, 1])
    np.testing.assert_array_equal(GivenRows(None, codes, np.array([2.0, 3.0])).counts, [2, 3])


def test_prefit_is_a_word_and_folds_may_be_arrays():
    assert is_prefit("prefit")
    assert not any(map(is_prefit, (None, 5, [(np.arange(3), np.arange(3))], np.array(["prefit"]))))


def test_a_prior_has_the_task_in_it():
    prior = TransitionPrior.noisy(["cat", "dog"])
    observed = read_labels(["cat", "dog"])
    found = task_of(prior, observed, **OPTIONS)
    assert (found.name, found.classes) == ("custom", ("cat", "dog"))
    assert task_of("noisy", observed, **OPTIONS).classes == ("cat", "dog")


@pytest.mark.parametrize("name", ["noise", "labelled"])
def test_a_prior_leaves_nothing_to_say(name):
    prior = TransitionPrior.noisy(["cat", "dog"])
    with pytest.raises(ValueError, match=f"{name}= was passed along with a TransitionPrior"):
        task_of(prior, read_labels(["cat", "dog"]), **OPTIONS | {name: 0.2})


def test_known_classes_are_rows_of_t():
    task = noisy(["cat", "dog"])
    codes = np.array([0, 1, 1])
    np.testing.assert_array_equal(known_rows(task, codes, None), [-1, -1, -1])
    np.testing.assert_array_equal(known_rows(task, codes, ["dog", None, "cat"]), [1, -1, 0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        known_rows(task, codes, ["dog"])
    with pytest.raises(ValueError, match="known_classes"):
        known_rows(task, codes, ["dog", None, "cow"])


def test_a_label_that_the_known_class_cannot_have_gives_way():
    """Columns: unlabelled, cat, dog; a class without a label of its own has none instead."""
    task = semi_supervised(["cat", "dog"])
    codes, known = np.array([1, 1, 0, 2]), np.array([0, 1, 1, -1])
    np.testing.assert_array_equal(possible_codes(task, codes, known), [1, 2, 0, 2])
    one_sided = multi_positive_unlabelled(["cat"], "other", noise=False)
    negative = one_sided.classes.index("other")
    np.testing.assert_array_equal(
        possible_codes(one_sided, np.array([1, 1]), np.array([negative, 1 - negative])), [0, 1]
    )


def test_a_label_stays_where_there_is_none_to_put_in_its_place():
    """Complementary labels: a class has none of its own, and here every row has one."""
    task = complementary(["a", "b", "c"])
    codes, known = np.array([0, 1]), np.array([0, 0])  # "not a" of a row that is "a"
    np.testing.assert_array_equal(possible_codes(task, codes, known), codes)
    every = complementary(["a", "b", "c"], unlabelled=True)  # there, no label is one
    np.testing.assert_array_equal(possible_codes(every, codes + 1, known), [0, 2])


def test_rows_of_dask_need_a_classifier_that_is_fitted():
    chunks = pytest.importorskip("dask.array").zeros((4, 2))
    check_chunks(chunks, "prefit")
    check_chunks(np.zeros((4, 2)), 5)
    with pytest.raises(ValueError, match="X is a collection of Dask"):
        check_chunks(chunks, 5)


def test_a_label_that_no_class_can_get_is_named_and_counted():
    task = semi_supervised(["cat", "dog"])
    codes = np.array([0, 0, 1, 2])
    check_every_label("semi-supervised", task, codes, labelled=0.5, noise=None)
    with pytest.raises(ValueError, match="the label unlabelled, which 2 rows of y have"):
        check_every_label("semi-supervised", task, codes, labelled=1.0, noise=None)
    prior = TransitionPrior([[1.0, 0.0], [1.0, 0.0]], 10, classes=["a", "b"], labels=["a", "b"])
    with pytest.raises(ValueError, match="the label 'b', which 1 rows of y have"):
        check_every_label(prior, prior.task, np.array([0, 1]), labelled=None, noise=None)


def test_shares_are_expected_only_if_they_were_given():
    task = noisy(["cat", "dog"])
    assert expected_shares(None, task) is None
    assert expected_shares(ClassPrior.learned(), task) is None
    np.testing.assert_array_equal(expected_shares({"dog": 0.3, "cat": 0.7}, task), [0.7, 0.3])
    with pytest.raises(ValueError, match=r"must sum to 1 over the classes .* its sum is 0.9"):
        expected_shares([0.7, 0.2], task)


def test_noise_that_is_to_be_found_is_not_known():
    assert known_noise("auto") is None
    assert known_noise(None) is None
    assert known_noise(0.2) == 0.2


def test_columns_of_a_fitted_classifier_go_by_name():
    task, observed = noisy(["cat", "dog"]), read_labels(["cat", "dog"])
    rows = np.arange(3.0)[:, None]
    fitted = LogisticRegression().fit(rows[:2], ["dog", "cat"])
    np.testing.assert_array_equal(prefit_columns(fitted, task, observed, None), [0, 1])
    some = noisy(["dog", "cat"], unlabelled=True)  # column 0 is unlabelled
    np.testing.assert_array_equal(prefit_columns(fitted, some, observed, None), [2, 1])
    more = LogisticRegression().fit(rows, ["dog", "cat", "cow"])
    with pytest.raises(ValueError, match="are not among the labels"):
        prefit_columns(more, task, observed, None)
    with pytest.raises(ValueError, match="pass it as estimator="):
        prefit_columns(None, task, observed, None)
    three = noisy(["cat", "cow", "dog"])
    with pytest.raises(ValueError, match=r"not fitted on the labels \['cow'\]"):
        prefit_columns(fitted, three, read_labels(["cat", "cow", "dog"]), None)
