"""Learning from imperfect labels.

Your labels are noisy, missing or one-sided; get p(true class | x), the labelling process
T = p(label | class) with error bars, and the list of rows to fix.

Train any classifier on the labels as they are to get p(label | x), say what is known of the
labelling in a `TransitionPrior`, and `infer` the rest. The model is that of Nørregaard and Hansen,
"Probabilistic Decoupling of Labels in Classification".
"""

from decoupling._version import __version__ as __version__
from decoupling.classifier.estimator import DecouplingClassifier
from decoupling.classifier.issues import LabelIssues, label_issues
from decoupling.diagnostics.record import Diagnostics
from decoupling.diagnostics.warnings import IdentifiabilityWarning
from decoupling.displays import (
    ElboDisplay,
    LabelIssuesDisplay,
    ReliabilityDisplay,
    TransitionDisplay,
)
from decoupling.evaluation.labelled import LabelledKFold, labelled_scorer
from decoupling.inference.ascent.class_prior import ClassPrior
from decoupling.inference.infer import infer
from decoupling.inference.moments import agreement_terms, expected_log
from decoupling.inference.posterior import Posterior
from decoupling.inference.streaming import StreamingInference
from decoupling.persistence.models import load, save
from decoupling.setred.classifier import SetredClassifier
from decoupling.transitions.prior import TransitionPrior

__all__ = [
    "ClassPrior",
    "DecouplingClassifier",
    "Diagnostics",
    "ElboDisplay",
    "IdentifiabilityWarning",
    "LabelIssues",
    "LabelIssuesDisplay",
    "LabelledKFold",
    "Posterior",
    "ReliabilityDisplay",
    "SetredClassifier",
    "StreamingInference",
    "TransitionDisplay",
    "TransitionPrior",
    "agreement_terms",
    "expected_log",
    "infer",
    "label_issues",
    "labelled_scorer",
    "load",
    "save",
]
