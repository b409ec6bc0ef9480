"""Limits of threads: one for linear algebra while anyone is inside, one of OpenMP for oneself."""

from threadpoolctl import threadpool_info

from decoupling._threads import LinearAlgebraLimit, one_openmp_thread


def threads_of(api):
    return {x["filepath"]: x["num_threads"] for x in threadpool_info() if x["user_api"] == api}


def test_linear_algebra_is_limited_until_the_last_one_is_out():
    before, limit = threads_of("blas"), LinearAlgebraLimit()
    with limit:
        with limit:
            assert set(threads_of("blas").values()) <= {1}
            assert limit.before() == max(before.values())
        assert set(threads_of("blas").values()) <= {1}
    assert threads_of("blas") == before


def test_one_thread_of_openmp_leaves_linear_algebra_alone():
    before, limit = threads_of("openmp"), LinearAlgebraLimit()
    with one_openmp_thread():
        assert set(threads_of("openmp").values()) <= {1}
        limit.__enter__()  # as another thread may do meanwhile
    assert threads_of("openmp") == before
    assert set(threads_of("blas").values()) <= {1}
    limit.__exit__()
