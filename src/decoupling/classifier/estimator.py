"""DecouplingClassifier: a thin shell over label model, transition prior, inference, retraining."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Hashable
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import _safe_indexing, check_consistent_length, check_random_state
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from decoupling._text import Message, message_of
from decoupling._typing import AnyArray, BoolArray, FloatArray, IntArray
from decoupling._validation import (
    all_or_nothing,
    check_count,
    check_evidence,
    warn_user,
)
from decoupling.classifier.fit_input import (
    FitInput,
    check_chunks,
    check_every_label,
    expected_shares,
    is_prefit,
    known_noise,
    known_rows,
    possible_codes,
    prefit_columns,
    task_of,
)
from decoupling.classifier.issues import LabelIssues, rank_issues
from decoupling.classifier.notebook import ShowsTransitions
from decoupling.diagnostics.warnings import (
    IdentifiabilityWarning,
    collapsed,
    few_rows,
    unbalanced,
    unseen_classes,
)
from decoupling.fits.ensembles import Training
from decoupling.fits.estimators import (
    as_rows,
    check_estimator_options,
    check_weights,
    classifier_or_default,
    naming_gaps,
    needing_proba,
    tagged_like,
)
from decoupling.fits.folds import Fold, check_fold_weights, check_folds, make_folds
from decoupling.fits.nested import nest
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.infer import check_options, infer
from decoupling.inference.math.draws import as_generator, draw_categories
from decoupling.inference.posterior import Posterior
from decoupling.label_model.forms import BagsForm
from decoupling.label_model.model import (
    LabelModel,
    fit_label_model,
    prefit_label_model,
    warn_if_by_heart,
)
from decoupling.labels.frames import library_of
from decoupling.labels.observed import encode_labels, read_labels
from decoupling.retraining.right_labels import self_train
from decoupling.retraining.rounds import Retrained, beside_rounds, retrain
from decoupling.transitions.choice import class_array, encode, given_labels
from decoupling.transitions.conditional import label_conditional
from decoupling.transitions.estimate import estimated_prior, never_impossible
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task

if TYPE_CHECKING:
    from decoupling.diagnostics.record import Diagnostics
    from decoupling.report.document import Report

# Class probabilities are then within 0.01 of where they end, on average over the rows: far less
# than p(label | x) is off by, at a tenth of the iterations.
_TOLERANCE: Final = 3e-4

_LOG = logging.getLogger(__name__)


class DecouplingClassifier(ShowsTransitions, MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Classifier for labels that are noisy, missing or one-sided.

    It trains ``estimator`` on the labels as they are to get p(label | x), out of fold; infers
    p(class | x) and the labelling process T = p(label | class) from it; and retrains ``estimator``
    on the classes so found.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier of scikit-learn's kind with ``predict_proba``; logistic regression by
        default. It is given labels as codes 0, 1, ..., so its own options cannot go by their names.
    task : str or TransitionPrior
        How labels come about. "auto" decides by what is seen: with unlabelled rows and a single
        label "positive-unlabelled", otherwise "noisy", of which some labels may be missing. Or
        "supervised", "semi-supervised", "positive-unlabelled", "multi-positive-unlabelled",
        "noisy", "class-conditional-noise", "complementary"; or a `TransitionPrior`, which is then
        used as it is.
    negative : object
        Name of the class that is never labelled, for the positive-unlabelled tasks. With labels
        that are numbers or booleans the default stands for 0 or False (for the number below all
        labels if 0 is one of them).
    noise : "auto", float, array-like (C,), mapping or array-like (C, C), optional
        p(wrong label | class, labelled): a number, one per class, or, for
        "class-conditional-noise", p(label | class, labelled). "auto" says that labels may be wrong,
        one for another, where the task alone would have it that they are not. If no number is given
        it is estimated from rows of which the classifier is sure: well where classes can be told
        apart, and too high where they overlap, since a confusion of the classifier looks like one
        of the labeller.
    labelled : float, array-like (C,) or mapping, optional
        p(labelled | class): a number or one per class that can be labelled. By default it is
        estimated from the mean of p(labelled | x) over the labelled rows, which is right if some
        samples of a class can be told with certainty, and too low if none can.
    class_prior : array-like (C,), mapping or ClassPrior, optional
        Expected share of each class. It is compared with the answer, and a warning given if they
        differ much; it does not enter the inference, where it does harm. A `ClassPrior` does, as
        the prior of every row's class distribution, or as one to be learned.
    evidence : "auto" or float
        How many observations a row counts for; see `infer`.
    expected_log, order
        How the expected logarithm is evaluated; see `infer`.
    learn_transitions : bool
        If False T stays at its first estimate, or at the rates given.
    cv : int, splitter, iterable, None or "prefit"
        How p(label | x) is held out from the labels it is compared with: number of folds, or a
        splitter or pairs of rows that hold out every row once. None predicts the rows that were
        fitted (the paper). Retraining needs folds within folds, and fits that grow with the square
        of their number. "prefit" takes ``estimator`` as fitted on the labels; there is no
        retraining then, and where every class is labelled as often p(labelled | x) is a constant.
    calibrate : bool
        Whether p(label | x) is calibrated on the labels.
    rounds : int
        Rounds of retraining on p(class | label, x) at most, of which the mean is predicted; 0 is
        the paper. p(label | x) counts beside it, as it is and with T undone, and what was inferred
        from bags of a rare label does, too. Each fold chooses what to train on by itself. Labels
        that are held out say how large the classes are, and rounds that make them less likely are
        the last. Where labels are right and the same share of every class has one, the classifier
        of each fold trains itself on the unlabelled rows of which it is sure, and another one is
        taught by labels that spread between neighbours, if rows are numbers or a pipeline makes
        them so; what is predicted does not depend on how T was inferred. There is no round where
        labels are right and every row has one, or ``labelled`` says that some classes have more, or
        no label is left in a part of the rows.
    unlabelled : object, optional
        Value that means unlabelled, such as -1, beside NaN, None and NA, which always do.
    random_state : int, RandomState or None
        Deals rows to folds, and draws bags of a rare label.
    n_jobs : int, optional
        Fits at a time.
    verbose : int
        1 prints each step.

    Attributes
    ----------
    classes_ : array (C,)
        Names of the classes.
    labels_ : tuple (S,)
        Names of the labels, the columns of T; None is unlabelled.
    transitions_ : array (C, S)
        p(label | class).
    label_proba_ : array (N, S)
        p(label | x) of the training rows, out of fold.
    class_proba_ : array (N, C)
        p(class | x) of the training rows, by models that were not fitted on their labels.
    label_conditional_proba_ : array (N, C)
        p(class | label, x) of the training rows.
    transduction_ : array (N,)
        Its most probable class.
    posterior_ : Posterior
        What was inferred.
    prior_ : TransitionPrior
        What the inference was told of T: what you said of it, or an estimate; where labels may be
        wrong and nothing was said, that of the rounds of retraining.
    task_ : Task
        Which labels each class may get.
    label_model_ : LabelModel
        The fitted classifiers of p(label | x).
    retrained_ : Retrained or None
        The fitted classifiers of p(class | x).
    observed_ : ObservedLabels
        The labels that were given.
    n_iter_ : int
        Iterations of the inference.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    Half of the labels are missing, and some of the others are wrong:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> rng = np.random.default_rng(0)
    >>> given = np.where(rng.random(150) < 0.15, rng.integers(0, 3, 150), y).astype(float)
    >>> given[rng.random(150) < 0.5] = np.nan
    >>> clf = DecouplingClassifier(task="noisy", random_state=0).fit(X, given)
    >>> float(np.mean(clf.transduction_ == y)) > 0.9
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        task: str | TransitionPrior = "auto",
        negative: Hashable = "negative",
        noise: Any = None,
        labelled: Any = None,
        class_prior: Any = None,
        evidence: Any = "auto",
        expected_log: str = "bound",
        order: int = 2,
        learn_transitions: bool = True,
        cv: Any = 5,
        calibrate: bool = True,
        rounds: int = 5,
        unlabelled: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.negative = negative
        self.noise = noise
        self.labelled = labelled
        self.class_prior = class_prior
        self.evidence = evidence
        self.expected_log = expected_log
        self.order = order
        self.learn_transitions = learn_transitions
        self.cv = cv
        self.calibrate = calibrate
        self.rounds = rounds
        self.unlabelled = unlabelled
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        known_classes: Any = None,
        **fit_params: Any,
    ) -> Self:
        """Learn classes and labelling from rows and the labels they were given.

        Parameters
        ----------
        X : array-like, dataframe or sparse matrix (N, D)
            Whatever the classifier takes; rows of Dask with ``cv="prefit"``.
        y : array-like (N,)
            Labels of any one type; NaN, None and NA mean unlabelled.
        sample_weight : array-like (N,), optional
            How many equal rows each row stands for: counts, not shares that add up to 1.
        known_classes : array-like (N,), optional
            True class of the rows of which it is known, missing elsewhere. The rounds of
            retraining learn from it, and ``label_conditional_proba_`` is certain of it. T is still
            that of the labels in ``y``, which are taken as they are, and of what is held out: rows
            whose class somebody looked up are no fair sample of how labels come about. Only a label
            that the task has as impossible for the class gives way to that of the class.
        **fit_params
            Passed on to the ``fit`` of the classifier.
        """
        given = self._prepare(X, y, sample_weight, known_classes)
        training = self._training(fit_params, given.weight)
        self._say("p(label | x)")
        with needing_proba(training.estimator), naming_gaps(given.X):
            self.label_model_ = self._fit_label_model(training, given)
        self.label_proba_ = self.label_model_.proba
        self.prior_, support = self._transition_prior(given)
        self._say("p(class | x) and p(label | class)")
        self.posterior_ = self._infer(given, support)
        self.retrained_ = self._retrain(training, given, support)
        self.n_iter_ = self.posterior_.trace.n_iter
        self.transitions_ = self.posterior_.transitions
        self.class_proba_ = (self.retrained_ or self.posterior_).class_proba
        self.label_conditional_proba_ = label_conditional(
            self.class_proba_, self.transitions_, given.codes
        )
        certain = given.known >= 0
        self.label_conditional_proba_[certain] = np.eye(len(self.classes_))[given.known[certain]]
        self.transduction_ = self.classes_[self.label_conditional_proba_.argmax(axis=1)]
        warn_user(collapsed(self.task_, self.class_proba_))
        shares = expected_shares(self.class_prior, self.task_)
        conditional, counts = self.label_conditional_proba_, given.counts
        warn_user(unbalanced(self.task_, shares, conditional, counts))
        return self

    def check(self, X: Any, y: Any, sample_weight: Any = None, known_classes: Any = None) -> Task:
        """Refuse what `fit` refuses before it fits anything; nothing is changed.

        Parameters
        ----------
        X, y, sample_weight, known_classes
            As in `fit`.

        Returns
        -------
        Task
            What would be solved: which labels each class may get.
        """
        trial = copy(self)
        trial._prepare(X, y, sample_weight, known_classes)
        trial._training({}, None)
        return trial.task_

    def predict_proba(self, X: Any) -> FloatArray:
        """p(class | x) of new rows, (N, C)."""
        check_is_fitted(self)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        rounds = self.retrained_
        with naming_gaps(X):
            if rounds is None:
                return self.posterior_.predict(self.label_model_.predict(X)).class_proba
            if not rounds.n_beside:
                return rounds.predict(X)
            return rounds.predict(X, self._beside_rounds(self.label_model_.predict(X)))

    def predict(self, X: Any) -> AnyArray:
        """Most probable class of new rows, (N,)."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[proba.argmax(axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy among the rows of y that are not unlabelled.

        A row with the value of ``unlabelled`` counts as unlabelled even where that is also the
        name of the negative class. A label that is none of ``classes_`` is refused, since no
        prediction could be right about it; make it None to leave these rows out.
        """
        check_is_fitted(self)
        observed = read_labels(y, unlabelled=self.unlabelled)
        encode_labels(given_labels(observed), self.classes_)  # refuses those that there are not
        rows = np.flatnonzero(observed.labelled)
        X = as_rows(X)
        check_consistent_length(X, observed.codes, sample_weight)
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        given = observed.values[observed.codes[rows]]
        return float(super().score(_safe_indexing(X, rows), given, weight))

    def transition_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for p(label | class), each (C, S)."""
        check_is_fitted(self)
        return self.posterior_.transition_interval(level)

    def class_balance_interval(self, level: float = 0.9) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of credible intervals for the share of each class, each (C,).

        Among the training rows, whose mean is ``posterior_.class_balance``: see
        `Posterior.class_balance_interval`.
        """
        check_is_fitted(self)
        return self.posterior_.class_balance_interval(level)

    def draw_classes(self, n: int = 1, random_state: Any = None) -> AnyArray:
        """Classes of the training rows, drawn from p(class | label, x), (n, N).

        For multiple imputation: run an analysis on each draw, and see how its results spread. T
        is held at its estimate; ``posterior_.draw`` draws T as well.

        Parameters
        ----------
        n : int
            How many draws.
        random_state : int, RandomState, Generator or None
            Where they come from.
        """
        check_is_fitted(self)
        check_count("n", n)
        rng = as_generator(random_state)
        draws = [draw_categories(self.label_conditional_proba_, rng) for _ in range(n)]
        return np.asarray(self.classes_[np.array(draws)])

    def label_issues(
        self, threshold: float = 0.5, *, all_rows: bool = False, with_unlabelled: bool = False
    ) -> LabelIssues:
        """Training rows whose labels look wrong, and what they should be; the worst first.

        Parameters
        ----------
        threshold : float
            List labelled rows whose label is wrong with at least this probability.
        all_rows : bool
            List every labelled row.
        with_unlabelled : bool
            List the unlabelled rows too, behind the others, with the class suggested for them.

        Returns
        -------
        LabelIssues
            Its ``table()`` is of the library that ``y`` came in, with its index.
        """
        check_is_fitted(self)
        return rank_issues(
            self.task_,
            self.label_conditional_proba_,
            self._codes(),
            self.classes_,
            self._labels_like,
            threshold=threshold,
            all_rows=all_rows,
            with_unlabelled=with_unlabelled,
        )

    @property
    def diagnostics(self) -> Diagnostics:
        """Whether the answer may be wrong: a light, green, amber or red, and its reasons.

        The light of the report. It has the reasons of ``posterior_.diagnostics``, as they are after
        retraining, and those that only a classifier can know, such as how p(label | x) was held out
        and how many rows carry each label. Options that were changed since the fit count as they
        are now.
        """
        from decoupling.report.facts import read_facts
        from decoupling.report.light import diagnosed

        return diagnosed(self, read_facts(self))

    def report(self, **options: Any) -> Report:
        """What was found, in words, tables and charts, for people.

        All arguments are given by name.

        Parameters
        ----------
        title : str, optional
            Of the page.
        task_description : str, optional
            How the labels came about, in words.
        row_names : sequence of length N, optional
            Names of the rows; 0, 1, ... by default.
        thumbnails : sequence of length N, optional
            Small images of the rows: the bytes of a PNG, JPEG or GIF, an array (height, width), or
            None.
        n_review : int
            How many rows to list; 50 by default, and at most 500.
        before : array-like (N,), optional
            The class that each row was taken for until now; by default its label.
        true_classes : array-like (N,), optional
            True classes, missing where they are not known, to score the answer with.
        decided : sequence of int
            Rows with nothing left to review.
        data_hash : str, optional
            Under which a browser keeps decisions.
        settings, warnings, commands
            A mapping and two lists of texts, to show beside the others.

        Returns
        -------
        Report
            Shown by a notebook; ``open()`` shows it in the browser, ``save("report.html")`` writes
            one page that needs nothing else, or Markdown or JSON.
        """
        from decoupling.report.content import report_content
        from decoupling.report.document import Report

        return Report(report_content(self, **options))

    def __sklearn_tags__(self) -> Any:
        return tagged_like(super().__sklearn_tags__(), self._estimator())

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: that of ``fit`` to the ``fit`` of the classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        router = MetadataRouter(owner=self).add_self_request(self)
        return router.add(estimator=self._estimator(), method_mapping=mapping)

    def _estimator(self) -> Any:
        return classifier_or_default(self.estimator)

    def _prepare(self, X: Any, y: Any, sample_weight: Any, known_classes: Any) -> FitInput:
        """What there is to fit, refused if it cannot work; sets names and task."""
        X = as_rows(X)
        check_chunks(X, self.cv)
        validate_data(self, X, skip_check_array=True)
        self.observed_ = read_labels(y, unlabelled=self.unlabelled)
        self._labels_like = library_of(y)
        self.task_ = task_of(
            self.task,
            self.observed_,
            negative=self.negative,
            noise=self.noise,
            labelled=self.labelled,
            unlabelled=self.unlabelled,
        )
        self.classes_ = class_array(self.task_, self.observed_.values)
        self.labels_ = self.task_.labels
        codes = self._codes()
        check_consistent_length(X, codes)
        weight = check_weights(sample_weight, X)
        known = known_rows(self.task_, codes, known_classes)
        given = FitInput(X, possible_codes(self.task_, codes, known), weight, known)
        self._check_options(given)
        if is_prefit(self.cv):
            self._prefit_columns()
        elif self.cv is not None:
            check_folds(self.cv, len(codes))
        return given

    def _codes(self) -> IntArray:
        """Column of p(label | x) of each row's label, (N,)."""
        return encode(self.task_, given_labels(self.observed_))

    def _check_options(self, given: FitInput) -> None:
        """Refuse what cannot work before anything is fitted, which may take long."""
        check_count("rounds", self.rounds, least=0)
        check_options(self.expected_log, self.order)
        if not isinstance(self.evidence, str):
            check_evidence("evidence", self.evidence)
        expected_shares(self.class_prior, self.task_)
        if isinstance(self.class_prior, ClassPrior):
            self.class_prior.start(self.task_.classes)
        if not given.counts[self.observed_.labelled].any():
            raise ValueError("sample_weight is 0 for every labelled row: no label is left.")
        check_every_label(
            self.task, self.task_, given.codes, labelled=self.labelled, noise=self.noise
        )

    def _training(self, fit_params: dict[str, Any], weight: FloatArray | None) -> Training:
        params = fit_params
        if _routing_enabled():
            passed = dict(fit_params) if weight is None else {**fit_params, "sample_weight": weight}
            params = dict(process_routing(self, "fit", **passed).estimator.fit)
            if params.pop("sample_weight", None) is None and weight is not None:
                raise ValueError(
                    f"sample_weight was passed, but {type(self._estimator()).__name__} has not "
                    "asked for it: call its set_fit_request(sample_weight=True)."
                )
        check_estimator_options(self._estimator(), params)
        return Training(self._estimator(), params, self.n_jobs)

    def _fit_label_model(self, training: Training, given: FitInput) -> LabelModel:
        X, codes, weight, unlabelled = given.X, given.codes, given.weight, self.task_.has_unlabelled
        options: dict[str, Any] = {
            "n_labels": len(self.task_.labels),
            "has_unlabelled": unlabelled,
            "constant_rate": self.task_.rate_tied,
            "calibrate": self.calibrate,
        }
        seen = codes >= int(unlabelled)
        if is_prefit(self.cv):
            columns = self._prefit_columns()
            model = prefit_label_model(training.estimator, X, codes, weight, columns, **options)
            if not self.task_.clean:
                warn_if_by_heart(model.raw, codes, seen)
            return model
        if self.cv is None:
            everything = np.arange(len(codes))
            folds = [Fold(everything, everything)]
        else:
            rng = check_random_state(self.random_state)
            folds = make_folds(X, codes, self.cv, rng)
            check_fold_weights(folds, weight)
            options["rng"] = rng
        model = fit_label_model(training, X, codes, weight, folds, **options)
        if self.cv is None:
            warn_if_by_heart(model.raw, codes, seen)
        return model

    def _prefit_columns(self) -> IntArray:
        """Column of p(label | x) of each class of the fitted classifier, by name."""
        return prefit_columns(self.estimator, self.task_, self.observed_, self.unlabelled)

    def _transition_prior(self, given: FitInput) -> tuple[TransitionPrior, FloatArray]:
        """What the user said of T, or a first estimate; and how many rows stand behind it, (C,)."""
        noise = known_noise(self.noise)
        rows = np.bincount(given.codes, given.counts, minlength=len(self.task_.labels))
        said = np.full(len(self.task_.classes), np.inf)
        if isinstance(self.task, TransitionPrior):
            warn_user(unseen_classes(self.task_, rows))
            return self.task, said
        prior, support = estimated_prior(
            self.task_,
            self.label_model_.proba,
            self.label_model_.raw,
            given.codes,
            given.counts,
            labelled=self.labelled,
            noise=noise,
            by_best_bin=self.task_.clean and isinstance(self.label_model_.form, BagsForm),
        )
        rate_known = self.labelled is not None or not self.task_.has_unlabelled
        if rate_known and (noise is not None or self.task_.clean):
            return prior, said
        warn_user(few_rows(self.task_, support, rows))
        return prior, support

    def _rates_said(self) -> bool:
        """Whether the user has said something of T, beyond the task."""
        said = self.labelled is not None or known_noise(self.noise) is not None
        return said or isinstance(self.task, TransitionPrior)

    def _infer(self, given: FitInput, support: FloatArray) -> Posterior:
        """Posterior of the rows under ``prior_``, behind whose rows stand so many each, (C,)."""
        return infer(
            self.label_proba_,
            self.prior_,
            class_prior=self.class_prior if isinstance(self.class_prior, ClassPrior) else None,
            evidence=self.evidence,
            expected_log=self.expected_log,
            order=self.order,
            learn_transitions=self.learn_transitions,
            sample_weight=given.weight,
            tol=_TOLERANCE,
        ).supported_by(support)

    def _retrain(
        self, training: Training, given: FitInput, support: FloatArray
    ) -> Retrained | None:
        """Rounds of retraining, or of self-training if labels are right; None if there is none."""
        folds, task, known = self.label_model_.folds, self.task_, given.known
        labelled = (given.codes >= int(task.has_unlabelled)) & (given.counts > 0)
        if not (self.rounds and folds and all(labelled[fold.fit].any() for fold in folds)):
            return None
        self._say(f"{self.rounds} rounds of retraining at most")
        if not (task.clean and task.complete):
            return self._retrain_apart(training, given, labelled, support)
        unlabelled = self.prior_.mean[:, 0]
        # Rows with a label are then like those without one, and may teach them.
        if task.has_unlabelled and np.allclose(unlabelled, unlabelled[0]):
            right = np.where(known >= 0, task.own[known], given.codes)
            return self_train(training, given.X, right, given.counts, folds, task, self.rounds)
        return None

    def _retrain_apart(
        self, training: Training, given: FitInput, labelled: BoolArray, support: FloatArray
    ) -> Retrained | None:
        """Rounds of retraining, each fold by itself; None if too little is left within folds.

        Where labels may be wrong, T is inferred once more, around that of the rounds: the first one
        has confusions in it of a classifier that learnt the labels as they are.
        """
        X, codes = given.X, given.codes
        nested = nest(self.label_model_.folds, codes)
        if not all(labelled[fold.fit].any() for view in nested for fold in view.inner):
            return None
        learn = self.learn_transitions and not self._rates_said()
        try:
            views = self.label_model_.within(training, X, codes, given.weight, nested)
            proba = [self.posterior_.predict(view).class_proba for view in views]
            rounds = retrain(
                training, X, codes, given.counts, nested, self.task_, proba,
                self.posterior_.transitions, self.rounds, given.known, learn_transitions=learn,
            )  # fmt: skip
        except ValueError as error:
            # It could be fitted on the rows of every fold; within them there are fewer.
            warn_user(
                Message(
                    "no-rounds",
                    "There are no rounds of retraining: the classifier cannot be fitted on a part "
                    "of the rows of a fold. Use more rows or folds, or {@rounds:=0}. It said: "
                    "{error}",
                    error=message_of(error),
                )
            )
            return None
        if learn and not self.task_.clean:
            followed = never_impossible(self.task_, rounds.transitions, support)
            self.prior_ = replace(self.prior_, mean=followed)
            self._say("p(label | class), once more")
            with warnings.catch_warnings():  # the first inference has warned
                warnings.simplefilter("ignore", IdentifiabilityWarning)
                self.posterior_ = self._infer(given, support)
        held_out = self.cv is not None  # else p(label | x) knows the labels by heart
        beside = self._beside_rounds(self.label_proba_) if held_out else ()
        return rounds.answer(beside, codes, given.counts)

    def _beside_rounds(self, label_proba: FloatArray) -> tuple[FloatArray, ...]:
        """p(y|x), each (N, C), that may count beside the rounds of retraining.

        What is inferred where some class has no label of its own rests on the rate of labelling,
        and is good enough only if a single label was learnt from bags.
        """
        if self.task_.complete:
            return beside_rounds(self.task_, label_proba, self.posterior_.transitions)
        if isinstance(self.label_model_.form, BagsForm):
            return (self.posterior_.predict(label_proba).class_proba,)
        return ()

    def _say(self, step: str) -> None:
        _LOG.info(step)
        if self.verbose:
            print(f"[DecouplingClassifier] {step}", flush=True)
