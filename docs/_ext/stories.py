"""The order of the examples: what most people have, the other tasks, then what else can be done."""

from pathlib import Path
from typing import Final

STORIES: Final = (
    "plot_noisy_digits.py",
    "plot_positive_unlabelled_cancer.py",
    "plot_semi_supervised_iris.py",
    "plot_class_conditional_text.py",
    "plot_multi_positive_wine.py",
    "plot_complementary_digits.py",
    "plot_error_bars.py",
    "plot_multiple_imputation_wine.py",
    "plot_setred_digits.py",
    "plot_streaming_parquet.py",
)


def place(path: str) -> int:
    """Where an example stands; one that has no place yet is an error, not the last."""
    return STORIES.index(Path(path).name)
