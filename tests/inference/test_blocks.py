"""Blocks on threads: order, and the limits of linear algebra."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from decoupling.inference.blocks import BlockMap


def test_threads_are_no_more_than_blocks_or_linear_algebra_may_use():
    assert BlockMap(8, 3).n_threads == 3
    with threadpool_limits(1, user_api="blas"):
        assert BlockMap(None, 100).n_threads == 1


def test_several_at_once_leave_the_limits_as_they_were():
    def limits():
        return [x["num_threads"] for x in threadpool_info() if x["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = limits()
        first, second = BlockMap(None, 4), BlockMap(None, 4)
        first.__enter__()
        third = BlockMap(None, 4)
        second.__enter__()
        assert first.n_threads == second.n_threads == third.n_threads
        assert max(limits()) == 1
        first.__exit__()
        assert max(limits()) == 1
        second.__exit__()
        assert limits() == before


def test_an_error_inside_leaves_the_limits_as_they_were():
    before = threadpool_info()
    with pytest.raises(ZeroDivisionError), BlockMap(2, 4) as blocks:
        list(blocks(lambda rows: 1 / 0, [slice(0, 1), slice(1, 2)]))
    assert threadpool_info() == before


def test_results_come_in_the_order_of_the_blocks():
    with BlockMap(4, 50) as blocks:
        assert list(blocks(lambda rows: rows.start, [slice(i, i + 1) for i in range(50)])) == list(
            range(50)
        )
