"""Names of options are those of what there is, which their checks do not import."""

from decoupling.inference import checks
from decoupling.inference.infer import _ASCENTS
from decoupling.inference.math.expected_log import METHODS


def test_names_of_methods_and_optimisers():
    assert sorted(METHODS) == list(checks.EXPECTED_LOGS)
    assert sorted(_ASCENTS) == list(checks.OPTIMISERS)
