"""`TransitionPrior`: what is known of p(s|y), as an immutable record."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from decoupling._typing import BoolArray, FloatArray
from decoupling._validation import check_range, frozen
from decoupling.transitions._frequencies import check_shares, frequency_table
from decoupling.transitions._names import Names, as_names, axis_names
from decoupling.transitions._rates import (
    Rates,
    check_balance,
    check_labelled,
    check_noise,
    uniform_noise,
)
from decoupling.transitions._rows import check_concentration, check_mean, check_strength
from decoupling.transitions.tasks import Task, custom


@dataclass(frozen=True, eq=False, init=False, slots=True)
class TransitionPrior:
    r"""Dirichlet prior of the labelling process, one row per class.

    .. math:: T_{c:} \sim \mathrm{Dir}(\mathrm{strength}_c \cdot \mathrm{mean}_{c:})

    independently for each class c; T_cs = p(label s | class c). The concentrations are called A in
    the paper.

    There is a constructor for each labelling task, which states its mean in terms of the rates

    .. math::

        \rho_c = p(\mathrm{labelled} \mid c), \qquad
        \epsilon_c = p(\mathrm{wrong} \mid c, \mathrm{labelled}),

    its arguments `labelled`, above 0, and `noise`. Each is a number, one per class, or a mapping
    {class: rate}; exactly 0 or 1 is a certainty. Labels are unlabelled, None, then the names of the
    classes; where all classes are always labelled there is no unlabelled. `strength` is an
    equivalent sample size, roughly: at 10 the rates are trusted like those among 10 samples of each
    class seen with their labels. Rows with a single possible label are known.

    Parameters
    ----------
    mean : array-like (C, S)
        Expected T. Rows sum to 1. A zero is a certainty: that class never gets that label.
    strength : number or array-like (C,)
        How many labelled samples of the class the prior is worth. ``inf``: the row is known.
    classes : sequence of length C, optional
        Names of the classes; 0, 1, ... by default.
    labels : sequence of length S, optional
        Names of the labels; 0, 1, ... by default. Column 0 is "unlabelled" where there is one.

    Examples
    --------
    Positives are labelled about one time in five; negatives never:

    >>> prior = TransitionPrior(
    ...     [[1, 0], [0.8, 0.2]], 50, classes=["no", "yes"], labels=[None, "yes"]
    ... )
    >>> prior.concentration
    array([[50.,  0.],
           [40., 10.]])
    """

    mean: FloatArray
    strength: FloatArray
    classes: tuple[Hashable, ...]
    labels: tuple[Hashable, ...]

    def __init__(
        self,
        mean: ArrayLike,
        strength: ArrayLike,
        *,
        classes: Names | None = None,
        labels: Names | None = None,
    ) -> None:
        rows = check_mean(mean)
        n_classes, n_labels = rows.shape
        strengths = check_strength(strength, n_classes)
        # Rows that are known, or stronger than 1, are checked by their mean: strengths may be huge.
        check_range("strength times mean", rows * np.minimum(strengths, 1.0)[:, None])
        object.__setattr__(self, "mean", frozen(rows))
        object.__setattr__(self, "strength", frozen(strengths))
        object.__setattr__(self, "classes", axis_names("classes", classes, n_classes, "mean"))
        object.__setattr__(self, "labels", axis_names("labels", labels, n_labels, "mean"))

    @classmethod
    def from_concentration(
        cls, concentration: ArrayLike, *, classes: Names | None = None, labels: Names | None = None
    ) -> TransitionPrior:
        """Prior with these Dirichlet concentrations, shape (C, S); zeros are impossible labels.

        Examples
        --------
        >>> TransitionPrior.from_concentration([[50, 0], [40, 10]]).mean
        array([[1. , 0. ],
               [0.8, 0.2]])
        """
        rows = check_concentration("transitions", concentration)
        total = rows.sum(axis=1)
        return cls(rows / total[:, None], total, classes=classes, labels=labels)

    @classmethod
    def supervised(cls, classes: Names) -> TransitionPrior:
        r"""Every sample has the label of its class, :math:`T = I`, known.

        Examples
        --------
        >>> TransitionPrior.supervised(["cat", "dog"]).mean
        array([[1., 0.],
               [0., 1.]])
        """
        names = as_names("classes", classes)
        return cls(np.eye(len(names)), np.inf, classes=names, labels=names)

    @classmethod
    def semi_supervised(
        cls, classes: Names, labelled: Rates = 0.1, *, strength: ArrayLike = 10.0
    ) -> TransitionPrior:
        r"""A sample has the label of its class, or none.

        .. math:: E[T_{c,\mathrm{unlabelled}}] = 1 - \rho_c, \qquad E[T_{cc}] = \rho_c

        Examples
        --------
        >>> prior = TransitionPrior.semi_supervised(
        ...     ["cat", "dog"], labelled={"cat": 0.1, "dog": 0.4}
        ... )
        >>> prior.labels
        (None, 'cat', 'dog')
        >>> prior.mean
        array([[0.9, 0.1, 0. ],
               [0.6, 0. , 0.4]])
        """
        names = as_names("classes", classes)
        rates = check_labelled(labelled, names)
        return cls._from_rates(rates, np.eye(len(names)), strength, names, names)

    @classmethod
    def positive_unlabelled(
        cls,
        labelled: Rates = 0.2,
        positive: Hashable = 1,
        negative: Hashable = 0,
        *,
        strength: ArrayLike = 10.0,
    ) -> TransitionPrior:
        r"""Some positives are labelled, no negatives; `labelled` is the rate of the positives.

        .. math:: E[T] = \begin{pmatrix} 1 & 0 \\ 1 - \rho & \rho \end{pmatrix}

        Rows are negative (known), positive; columns unlabelled, positive.

        Examples
        --------
        >>> TransitionPrior.positive_unlabelled(labelled=0.25).mean
        array([[1.  , 0.  ],
               [0.75, 0.25]])
        """
        return cls.multi_positive_unlabelled([positive], negative, labelled, strength=strength)

    @classmethod
    def multi_positive_unlabelled(
        cls,
        positives: Names,
        negative: Hashable = "negative",
        labelled: Rates = 0.2,
        *,
        noise: Rates = 0.0,
        strength: ArrayLike = 10.0,
    ) -> TransitionPrior:
        r"""Some samples of the M positive classes are labelled, none of the negative class.

        .. math::

            E[T_{c,\mathrm{unlabelled}}] = 1 - \rho_c, \qquad E[T_{cc}] = \rho_c (1 - \epsilon_c),
            \qquad E[T_{cs}] = \rho_c \epsilon_c / (M - 1) \quad (s \ne c)

        for positive classes c and s. The negative class is the first, always unlabelled (known);
        `labelled` and `noise` are those of the positive classes.

        Examples
        --------
        >>> TransitionPrior.multi_positive_unlabelled(["cat", "dog"], labelled=0.5).mean
        array([[1. , 0. , 0. ],
               [0.5, 0.5, 0. ],
               [0.5, 0. , 0.5]])
        """
        names = as_names("positives", positives)
        rates = np.append(0.0, check_labelled(labelled, names))
        given_label = np.vstack([np.zeros(len(names)), uniform_noise(noise, names)])
        return cls._from_rates(rates, given_label, strength, (negative, *names), names)

    @classmethod
    def noisy(
        cls,
        classes: Names,
        noise: Rates = 0.2,
        labelled: Rates = 1.0,
        *,
        strength: ArrayLike = 10.0,
    ) -> TransitionPrior:
        r"""Labels may be wrong, all wrong labels of a class being equally likely.

        .. math::

            E[T_{c,\mathrm{unlabelled}}] = 1 - \rho_c, \qquad E[T_{cc}] = \rho_c (1 - \epsilon_c),
            \qquad E[T_{cs}] = \rho_c \epsilon_c / (C - 1) \quad (s \ne c)

        Examples
        --------
        >>> TransitionPrior.noisy(["cat", "dog", "fox"], noise=0.2, labelled=0.5).mean
        array([[0.5 , 0.4 , 0.05, 0.05],
               [0.5 , 0.05, 0.4 , 0.05],
               [0.5 , 0.05, 0.05, 0.4 ]])
        """
        names = as_names("classes", classes)
        rates = check_labelled(labelled, names)
        return cls._from_rates(rates, uniform_noise(noise, names), strength, names, names)

    @classmethod
    def class_conditional_noise(
        cls, classes: Names, noise: ArrayLike, labelled: Rates = 1.0, *, strength: ArrayLike = 10.0
    ) -> TransitionPrior:
        r"""Labels may be wrong in a way that depends on the class.

        .. math:: E[T_{c,\mathrm{unlabelled}}] = 1 - \rho_c, \qquad E[T_{cs}] = \rho_c K_{cs}

        where `noise` is :math:`K_{cs} = p(s \mid c, \mathrm{labelled})`, shape (C, C): either with
        rows that sum to 1, or with zeros on the diagonal, which is then the rest of each row.

        Examples
        --------
        Three dogs in ten are called cats, and no cat is called a dog:

        >>> TransitionPrior.class_conditional_noise(["cat", "dog"], [[0, 0], [0.3, 0]]).mean
        array([[1. , 0. ],
               [0.3, 0.7]])
        """
        names = as_names("classes", classes)
        rates = check_labelled(labelled, names)
        return cls._from_rates(rates, check_noise(noise, len(names)), strength, names, names)

    @classmethod
    def complementary(
        cls, classes: Names, *, labelled: Rates = 1.0, strength: ArrayLike = 10.0
    ) -> TransitionPrior:
        r"""A label says what the sample is not: any class but its own.

        .. math::

            E[T_{c,\mathrm{unlabelled}}] = 1 - \rho_c, \qquad E[T_{cc}] = 0,
            \qquad E[T_{cs}] = \rho_c / (C - 1) \quad (s \ne c)

        Examples
        --------
        >>> TransitionPrior.complementary(["cat", "dog", "fox"]).mean
        array([[0. , 0.5, 0.5],
               [0.5, 0. , 0.5],
               [0.5, 0.5, 0. ]])
        """
        return cls.noisy(classes, 1.0, labelled, strength=strength)

    @classmethod
    def _from_rates(
        cls,
        labelled: FloatArray,
        given_label: FloatArray,
        strength: ArrayLike,
        classes: tuple[Hashable, ...],
        labels: tuple[Hashable, ...],
    ) -> TransitionPrior:
        """Prior with the mean p(labelled | c) p(s | c, labelled), and the rest unlabelled."""
        mean = labelled[:, None] * given_label
        if (labelled < 1).any():
            mean, labels = np.column_stack([1 - labelled, mean]), (None, *labels)
        strengths = check_strength(strength, len(classes))
        strengths[np.count_nonzero(mean, axis=1) == 1] = np.inf  # one possible label is known
        return cls(mean, strengths, classes=classes, labels=labels)

    @property
    def known(self) -> BoolArray:
        """Rows that are constants (infinite strength), (C,)."""
        return np.isinf(self.strength)

    @property
    def concentration(self) -> FloatArray:
        """Dirichlet concentrations (the paper's A), (C, S); ``inf`` in known rows."""
        with np.errstate(invalid="ignore"):
            product = self.mean * self.strength[:, None]
        return np.where(self.mean == 0.0, 0.0, product)

    @property
    def task(self) -> Task:
        """The pattern of possible transitions, with nothing tied."""
        return custom(self.mean > 0, self.classes, self.labels)

    def predictive(self, class_balance: Rates | None = None) -> FloatArray:
        r"""Label frequencies that the prior expects, (S,).

        .. math:: E[p(s)] = \sum_c b_c \, E[T_{cs}]

        with b the `class_balance`: one share per class or {class: share}, uniform by default.

        Examples
        --------
        >>> TransitionPrior.positive_unlabelled(labelled=0.25).predictive([0.6, 0.4])
        array([0.9, 0.1])
        """
        balance = np.full(len(self.classes), 1 / len(self.classes))
        if class_balance is not None:
            balance = check_balance("class_balance", class_balance, self.classes)
        return np.asarray(balance / balance.sum() @ self.mean)

    def describe(
        self, labels: Mapping[Any, float] | None = None, class_balance: Rates | None = None
    ) -> str:
        """Table of the label frequencies that the prior expects, beside those in the data.

        Parameters
        ----------
        labels : mapping {label: count or frequency}, optional
            The labels in the data; None is unlabelled, and a label that is not there counts 0.
        class_balance : sequence or mapping {class: share}, optional
            Shares of the classes; uniform by default.

        Examples
        --------
        >>> prior = TransitionPrior.semi_supervised(["cat", "dog"], labelled=0.3)
        >>> print(prior.describe({None: 150, "cat": 10, "dog": 40}))
        label       expected  observed
        unlabelled    70.00%    75.00%
        cat           15.00%     5.00%
        dog           15.00%    20.00%
        """
        columns = {"expected": self.predictive(class_balance)}
        if labels is not None:
            columns["observed"] = check_shares("labels", labels, self.labels)
        return frequency_table(self.labels, columns)
