"""Save models and load them, without pickle.

`models` has `save` and `load`. A file is an `archive` with a `manifest`. `records` writes and reads
what `kinds` lists, `libraries` the type of the labels, and `skops_files` the classifiers of others.
`consistency` checks that the parts of a model fit together.
"""

from decoupling.persistence.models import describe, load, save, untrusted_types

__all__ = ["describe", "load", "save", "untrusted_types"]
