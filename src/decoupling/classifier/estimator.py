"""DecouplingClassifier: a thin shell over label model, transition prior, inference, retraining."""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, validate_data

from decoupling._typing import AnyArray, FloatArray
from decoupling._validation import all_or_nothing, check_count
from decoupling.classifier import fit_steps
from decoupling.classifier.alone import check_overlap, own_labels_alone, proba_of_labels
from decoupling.classifier.fit_input import FitInput, check_chunks, read_input
from decoupling.classifier.issues import LabelIssues, rank_issues
from decoupling.classifier.notebook import ShowsTransitions
from decoupling.classifier.planning import plan_of
from decoupling.fits.ensembles import Training
from decoupling.fits.estimators import (
    as_rows,
    check_estimator_options,
    classifier_or_default,
    naming_gaps,
    needing_proba,
    tagged_like,
)
from decoupling.fits.plan import IN_ROUNDS, LABEL_MODEL, NOT_AGAIN, ON_RIGHT_LABELS, FitPlan
from decoupling.fits.shielding import own_rows
from decoupling.inference.math.draws import as_generator, draw_categories
from decoupling.labels.doubts import warn_of_index
from decoupling.labels.observed import read_labels, recode_labels
from decoupling.retraining.answer import Retrained, parts_beside
from decoupling.transitions.choice import class_array, label_codes
from decoupling.transitions.prior import TransitionPrior
from decoupling.transitions.tasks import Task

if TYPE_CHECKING:
    from decoupling.diagnostics.record import Diagnostics
    from decoupling.report.document import Report

# Over the limit: half of this file is the reference page of the class, which help() shows whole.

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
        "class-conditional-noise", p(label | class, labelled). "auto" says that any label may stand
        for another, also in a task whose labels are right otherwise. If no number is given it is
        estimated from rows of which the classifier is sure. The estimate is good where classes can
        be told apart, and too high where they overlap, since a confusion of the classifier looks
        like one of the labeller.
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
    overlap : float, optional
        With ``cv="prefit"``: how much of the classifier's doubt a careful expert would share who
        sees what it sees, from 0, who would never be in doubt, to 1, who always would. Doubt that
        is no overlap of the classes is due to wrong labels. One label per row cannot tell how much
        it is, so by default the answer is the mean over all of it.
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
    overlap_answer_ : OverlapAnswer or None
        With ``cv="prefit"``, where labels may be wrong and nothing was said of T: T for each
        overlap of the classes, from which p(class | x) of new rows follows.
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

    # Over the limit: public options, which users name and scikit-learn wants in one signature.
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
        overlap: float | None = None,
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
        self.overlap = overlap
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
        given = self._read(X, y, sample_weight, known_classes)
        training = self._training(fit_params, given)
        rng = check_random_state(self.random_state)
        plan = plan_of(self, given, rng)
        self._tell(LABEL_MODEL, plan.total)
        # S: p(s|x) of every row, by classifiers that have not seen its label.
        with needing_proba(training.estimator), naming_gaps(given.rows.X):
            label_model = fit_steps.label_model_of(self, training, given, plan, rng)
        self._tell("p(class | x) and p(label | class)", plan.total - plan.of(LABEL_MODEL))
        # q(Y) q(T), from S and what is known of T.
        known = fit_steps.known_transitions(self, given, label_model)
        posterior = fit_steps.infer_classes(self, given, label_model.proba, known)
        # p(y|x) once more, from p(y|s,x) of the rows that can be trusted.
        retrained: Retrained | None = None
        if plan.retraining != NOT_AGAIN:
            self._tell(f"{self.rounds} rounds of retraining at most")
        if plan.retraining == ON_RIGHT_LABELS:
            retrained = fit_steps.right_labels_of(self, training, given, plan)
        if plan.retraining == IN_ROUNDS:
            rounds = fit_steps.rounds_of(self, training, given, plan, label_model, posterior)
            if rounds is not None and fit_steps.follows_rounds(self, given):
                self._tell("p(label | class), once more", 0)
                known = fit_steps.followed_transitions(given, known, rounds)
                posterior = fit_steps.infer_again(self, given, label_model.proba, known)
            if rounds is not None:
                retrained = fit_steps.rounds_answer(self, given, label_model, posterior, rounds)
        # W: p(y|s,x).
        class_proba = (retrained or known.settled or posterior).class_proba
        conditional = fit_steps.label_conditional_of(given.rows, class_proba, known, posterior)
        self._tell("done", 0)

        self.task_, self.labels_ = given.task, given.task.labels
        self.classes_ = class_array(given.task, given.observed.values)
        self.observed_, self._labels_like = given.observed, given.labels_like
        self.label_model_, self.label_proba_ = label_model, label_model.proba
        self.prior_, self.posterior_, self.retrained_ = known.prior, posterior, retrained
        self.overlap_answer_ = None if known.settled is None else known.settled.answer
        self.n_iter_, self.transitions_ = posterior.trace.n_iter, posterior.transitions
        self.class_proba_, self.label_conditional_proba_ = class_proba, conditional
        self.transduction_ = self.classes_[conditional.argmax(axis=1)]
        fit_steps.warn_of_answer(self, given, class_proba, conditional)
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
        given = trial._read(X, y, sample_weight, known_classes)
        trial._training({}, None)
        return given.task

    def planned_fits(
        self, X: Any, y: Any, sample_weight: Any = None, known_classes: Any = None
    ) -> FitPlan:
        """Plan the fits of `fit`: which classifiers it will fit, and how many at most.

        Nothing is fitted or changed.

        Parameters
        ----------
        X, y, sample_weight, known_classes
            As in `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> plan = DecouplingClassifier(rounds=2, random_state=0).planned_fits(X, y)
        >>> print(plan)
        45 at most: 5 for p(label | x), 10 for p(label | x) within folds, 30 for 2 rounds
        """
        if isinstance(self.cv, Iterator):
            raise ValueError("cv is an iterator, which can be used once: make a list of it.")
        trial = copy(self)
        given = trial._read(X, y, sample_weight, known_classes)
        trial._training({}, None)
        # A RandomState must give `fit` the numbers that it would have given without a plan.
        rng = copy(check_random_state(self.random_state))
        return plan_of(self, given, rng)

    def predict_proba(self, X: Any) -> FloatArray:
        """p(class | x) of new rows, (N, C)."""
        check_is_fitted(self)
        X = as_rows(X)
        validate_data(self, X, skip_check_array=True, reset=False)
        retrained = self.retrained_
        with naming_gaps(X):
            if retrained is not None and not retrained.beside:
                return retrained.predict(X)
            label_proba = self.label_model_.predict(X)
            if self.overlap_answer_ is not None:
                return self.overlap_answer_.class_proba(label_proba)
            if retrained is None:
                return self.posterior_.predict(label_proba).class_proba
            parts = parts_beside(
                retrained.beside,
                self.task_,
                label_proba,
                self.posterior_.transitions,
                infer=lambda proba: self.posterior_.predict(proba).class_proba,
            )
            return retrained.predict(X, list(parts.values()))

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
        recode_labels(observed, self.classes_)  # refuses those that there are not
        rows = np.flatnonzero(observed.labelled)
        X = as_rows(X)
        check_consistent_length(X, observed.codes, sample_weight)
        warn_of_index(X, y=y, sample_weight=sample_weight)
        weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
        given = observed.values[observed.codes[rows]]
        return float(super().score(own_rows(X, rows), given, weight))

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

        The order is that of p(wrong). Where nothing was retrained it is that of p(class | x) of the
        label, before the label itself counts, so that T does not put classes before others.

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
            label_codes(self.task_, self.observed_),
            self.classes_,
            self._labels_like,
            threshold=threshold,
            all_rows=all_rows,
            with_unlabelled=with_unlabelled,
            own_proba=self.proba_of_labels(),
        )

    def proba_of_labels(self) -> FloatArray | None:
        """p(class of the label | x), before the label itself counts, (N,); the worst labels first.

        It ranks labels where every row has one, every class its own, and nothing was retrained.
        None elsewhere: there p(wrong) ranks them.
        """
        check_is_fitted(self)
        if self.retrained_ is not None or not own_labels_alone(self.task_):
            return None
        codes, raw = label_codes(self.task_, self.observed_), self.label_model_.raw
        return proba_of_labels(self.task_, raw, self.transitions_, codes)

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

    def _read(self, X: Any, y: Any, sample_weight: Any, known_classes: Any) -> FitInput:
        """Read the input and refuse what cannot be fitted; sets the names of the features."""
        X = as_rows(X)
        check_chunks(X, self.cv)
        validate_data(self, X, skip_check_array=True)
        given = read_input(self, X, y, sample_weight, known_classes)
        check_overlap(self, given.task)
        return given

    def _training(self, fit_params: dict[str, Any], given: FitInput | None) -> Training:
        """The classifier and what its fits are given, routed as scikit-learn was told to."""
        params, weight = fit_params, None if given is None else given.rows.weight
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

    def _tell(self, step: str, fits_left: int | None = None) -> None:
        """Say which step begins, and how many fits are left at most, if that is known anew."""
        _LOG.info(step, extra={"fits_left": fits_left})
        if self.verbose and step != "done":
            print(f"[DecouplingClassifier] {step}", flush=True)
