"""What an answer on imperfect labels is worth."""

import numpy as np
from sklearn.metrics import average_precision_score, f1_score, log_loss

from benchmarks.real.methods import Answer
from benchmarks.real.problems import Problem

# Least probability that counts, as in `decoupling.experiments.scores`.
LEAST = 1e-6


def scores(problem: Problem, answer: Answer) -> dict[str, object]:
    """Scores by name; what cannot be known is left out."""
    out: dict[str, object] = {"light": answer.light} if answer.light else {}
    judged, wrong = problem.judged, problem.wrong[problem.judged]
    whole = len(judged) == len(problem.codes)
    if answer.doubt is not None and wrong.any():
        out["AP"] = average_precision_score(wrong, answer.doubt[judged])
    if whole:
        out["wrong"] = float(wrong.sum())
        out["rows"] = len(wrong)
        for name in ("n_wrong", "low", "high"):
            if getattr(answer, name) is not None:
                out[name] = float(getattr(answer, name))
        if answer.p_wrong is not None:
            p = np.clip(answer.p_wrong, LEAST, 1.0 - LEAST)
            out["log-loss of p(wrong)"] = -float(np.log(np.where(wrong, p, 1.0 - p)).mean())
    if (problem.classes >= 0).all():
        out |= _of_classes(problem, answer)
    return {k: round(v, 5) if isinstance(v, float) else v for k, v in out.items()}


def _of_classes(problem: Problem, answer: Answer) -> dict[str, object]:
    out: dict[str, object] = {}
    if answer.found is not None:
        out["right"] = float((answer.found == problem.classes).mean())
    if answer.transitions is not None:
        counts = np.zeros_like(answer.transitions)
        np.add.at(counts, (problem.classes, problem.codes), 1.0)
        true = counts / counts.sum(axis=1, keepdims=True)
        out["error of T"] = float(np.abs(answer.transitions - true).mean())
        if answer.lower is not None:
            held = (answer.lower <= true) & (true <= answer.upper)
            out["intervals of T"] = float(held.mean())
    if answer.test is not None:
        test = np.clip(answer.test, LEAST, 1.0)
        test = test / test.sum(axis=1, keepdims=True)
        classes = problem.classes_test
        out["test accuracy"] = float((test.argmax(axis=1) == classes).mean())
        out["macro-F1"] = float(f1_score(classes, test.argmax(axis=1), average="macro"))
        out["log-loss"] = float(log_loss(classes, test, labels=np.arange(test.shape[1])))
    return out
