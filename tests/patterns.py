"""A task of every pattern, over the same classes."""

from dataclasses import replace

import numpy as np

from decoupling.transitions import tasks

ABC = ("a", "b", "c")


def restricted(task, mask):
    """The task with fewer possible transitions."""
    mask = np.array(mask, dtype=bool)
    return replace(task, mask=mask, tied=np.where(mask, task.tied, -1))


TASKS = {
    "supervised": tasks.supervised(ABC),
    "semi": tasks.semi_supervised(ABC),
    "pu": tasks.positive_unlabelled("yes", "no"),
    "multi-pu": tasks.multi_positive_unlabelled(ABC),
    "multi-pu noise": tasks.multi_positive_unlabelled(ABC, "none", noise=True),
    "noisy": tasks.noisy(ABC, unlabelled=False),
    "noisy unlabelled": tasks.noisy(ABC, unlabelled=True),
    "cond": tasks.class_conditional_noise(ABC, unlabelled=False),
    "cond unlabelled": restricted(
        tasks.class_conditional_noise(ABC, unlabelled=True),
        [[1, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 1]],
    ),
    "complementary": tasks.complementary(ABC),
    "complementary unlabelled": tasks.complementary(ABC, unlabelled=True),
    "custom": tasks.custom([[0, 1, 0], [1, 1, 1]], ["a", "b"], [None, "a", "x"]),
    "one class": tasks.semi_supervised(["a"]),
}
