"""Blocks on threads: order, and the limits of linear algebra."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from decoupling.inference.rows.block import Rows
from decoupling.inference.rows.blocks import RowBlocks


def blocks_of(n_blocks, n_threads):
    proba = np.column_stack([np.linspace(0, 1, n_blocks), np.linspace(1, 0, n_blocks)])
    rows = Rows(proba, np.ones(2, bool), np.array(1.0), np.ones((n_blocks, 2)))
    return RowBlocks(rows, 1, n_threads)


def test_threads_are_no_more_than_blocks_or_linear_algebra_may_use():
    assert blocks_of(3, 8).n_threads == 3
    with threadpool_limits(1, user_api="blas"):
        assert blocks_of(100, None).n_threads == 1


def test_several_at_once_leave_the_limits_as_they_were():
    def limits():
        return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = limits()
        first, second = blocks_of(4, None), blocks_of(4, None)
        first.__enter__()
        third = blocks_of(4, None)
        second.__enter__()
        assert first.n_threads == second.n_threads == third.n_threads
        assert max(limits()) == 1
        first.__exit__()
        assert max(limits()) == 1
        second.__exit__()
        assert limits() == before


def test_an_error_inside_leaves_the_limits_as_they_were():
    before = threadpool_info()
    with pytest.raises(ZeroDivisionError), blocks_of(4, 2) as blocks:
        blocks.query(lambda rows: 1 / 0, max)
    assert threadpool_info() == before


def test_results_come_in_the_order_of_the_blocks():
    with blocks_of(50, 4) as blocks:
        found = list(blocks.each(lambda rows: rows.label_proba[0, 0]))
    np.testing.assert_array_equal(found, np.linspace(0, 1, 50))
