"""`decoupling reproduce`: the paper's experiments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from decoupling.cli.options import with_fields
from decoupling.cli.progress import bar
from decoupling.cli.terminal import console, plainly, print_written

app = typer.Typer(
    help="The experiments of the paper, with their figures: Nørregaard and Hansen, Probabilistic "
    "Decoupling of Labels in Classification.",
    no_args_is_help=True,
)

# Labels per class of Fashion MNIST from which on the paper has its positive-unlabelled tasks
# near the ceiling; the table of findings says whether they are so here.
_MANY: Final = 1000

Out = Annotated[Path, typer.Option(help="Folder for results and figures.")]
Data = Annotated[str, typer.Option(help="fashion, digits, or the path of a .npz or .csv file.")]
Network = Annotated[str, typer.Option(help="cnn (needs the extra torch) or mlp (scikit-learn's).")]
Jobs = Annotated[int, typer.Option(help="Cells at a time; -1: one per core.")]
Download = Annotated[
    bool, typer.Option("--download", help="Fetch Fashion MNIST from OpenML if it is not here.")
]


@app.command()
def simulated(
    out: Out = Path("results"),
    seed: Annotated[int, typer.Option(min=0, help="Of the draws and the network.")] = 0,
    samples: Annotated[int, typer.Option(min=10, help="How many are drawn.")] = 2000,
    evidence: Annotated[
        str, typer.Option(help="Observations that a sample counts for: a number, or auto.")
    ] = "1",
    expected_log: Annotated[str, typer.Option(help="bound, beta, exact or taylor.")] = "bound",
) -> None:
    """Four normals, three of them positive: six figures, and T with its intervals.

    decoupling reproduce simulated --seed 1
    """
    with plainly():
        from decoupling.experiments.simulated_example import (
            SimulatedConfig,
            draw_simulated,
            simulate,
        )

        config = SimulatedConfig(
            n_samples=samples,
            seed=seed,
            evidence=_number_or_auto(evidence),
            expected_log=expected_log,
        )
        with console.status("drawing, training and inferring"):
            found = simulate(config)
        print_written(draw_simulated(found, out / "simulated"))
        console.print("\nShare of samples whose class is found")
        for name, value in found.scores.items():
            console.print(f"  {name:<18} {value:.3f}")
        trace = found.posterior.trace
        console.print(f"{trace.n_iter} iterations, stopped by {trace.stopped_because}")


@app.command()
def agreement(out: Out = Path("results")) -> None:
    """Class densities and agreement terms of the appendix, and what they cost.

    decoupling reproduce agreement
    """
    with plainly():
        from decoupling.experiments.agreement_terms import draw_agreement

        print_written(draw_agreement(out / "agreement"))


@dataclass(frozen=True)
class CurveOptions:
    """Options of ``decoupling reproduce fashion``, in the order of ``--help``."""

    data: Data = "fashion"
    tasks: Annotated[str, typer.Option(help="Which, with commas between; or all.")] = "all"
    labels: Annotated[str, typer.Option(help="Labels per class, with commas between; or all.")] = (
        "all"
    )
    runs: Annotated[int, typer.Option(min=1, help="How many, from seed 0 on.")] = 10
    network: Network = "cnn"
    evidence: Annotated[
        str, typer.Option(help="Observations that a row counts for: a number, or auto.")
    ] = "auto"
    expected_log: Annotated[str, typer.Option(help="bound, beta, exact or taylor.")] = "bound"
    calibrate: Annotated[bool, typer.Option(help="Whether p(label | x) is calibrated.")] = True
    jobs: Jobs = -1
    out: Out = Path("results")
    cache: Annotated[
        Path | None, typer.Option(help="Folder for p(label | x); by default cache in --out.")
    ] = None
    download: Download = False

    @property
    def inference(self) -> tuple[tuple[str, Any], ...]:
        """Options of the inference that are not the defaults."""
        options: dict[str, Any] = {}
        if self.evidence != "auto":
            options["evidence"] = _number_or_auto(self.evidence)
        if self.expected_log != "bound":
            options["expected_log"] = self.expected_log
        if not self.calibrate:
            options["calibrate"] = False
        return tuple(options.items())


@app.command()
@with_fields(CurveOptions)
def fashion(asked: CurveOptions) -> None:
    """Seven labelling tasks against the number of labels; goes on where it stopped.

    decoupling reproduce fashion --tasks pu,semi --labels 100,1000 --runs 1

    decoupling reproduce fashion --data digits --network mlp --runs 3
    """
    with plainly():
        from decoupling.experiments.curves import evaluate, grid
        from decoupling.experiments.data import load_data
        from decoupling.experiments.labelling_tasks import TASKS
        from decoupling.experiments.store import Results, run_cells

        clean = load_data(asked.data, download=asked.download)
        cells = grid(
            clean,
            tasks=list(TASKS) if asked.tasks == "all" else _names(asked.tasks),
            labels=None if asked.labels == "all" else _integers("--labels", asked.labels),
            runs=asked.runs,
            network=asked.network,
            inference=asked.inference,
        )
        folder = asked.out / clean.name
        results = Results(folder / "results.jsonl")
        cache = asked.cache or asked.out / "cache"
        scores = partial(evaluate, asked.data, cache, download=asked.download)
        done = run_cells(scores, cells, results, n_jobs=asked.jobs)
        _follow(done, sum(cell not in results for cell in cells))
        many = _MANY if asked.data == "fashion" else clean.smallest // 2
        _report(results, cells[-1][0], many, folder)


@app.command()
def self_training(
    data: Data = "fashion",
    tasks: Annotated[
        str, typer.Option(help="Of semi, pu, pu3 and pu7, with commas between.")
    ] = "semi,pu,pu3",
    labels: Annotated[
        int | None,
        typer.Option(min=1, help="Per class; by default a sixth, and half of them for pu."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, help="How many, from seed 0 on.")] = 3,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds at most.")] = 10,
    network: Network = "cnn",
    jobs: Jobs = -1,
    out: Out = Path("results"),
    download: Download = False,
) -> None:
    """SETRED from the labels and from a decoupled posterior; goes on where it stopped.

    decoupling reproduce self-training --data digits --network mlp --runs 1
    """
    with plainly():
        from decoupling.experiments.data import load_data
        from decoupling.experiments.self_training import self_train, self_training_cells
        from decoupling.experiments.store import Results, run_cells

        clean = load_data(data, download=download)
        cells = self_training_cells(
            clean, tasks=_names(tasks), labels=labels, runs=runs, name=network, rounds=rounds
        )
        folder = out / "self_training" / clean.name
        results = Results(folder / "results.jsonl")
        done = run_cells(partial(self_train, data, download=download), cells, results, n_jobs=jobs)
        _follow(done, sum(cell not in results for cell in cells))
        _report_rounds(results, [config for config, _ in cells], folder / network)


def _report_rounds(results: Any, configs: list[Any], folder: Path) -> None:
    """Write table and figures of self-training, and print what they show."""
    from decoupling.experiments.self_training_report import (
        draw_rounds,
        rounds_like,
        rounds_shapes,
        rounds_table,
    )

    found = rounds_like(results, configs)
    findings = rounds_shapes(found)
    print_written([_tables(findings, rounds_table(found), folder.with_suffix(".md"))])
    print_written(draw_rounds(found, folder))
    _say(findings)


def _report(results: Any, like: Any, many: int, folder: Path) -> None:
    """Write tables and figures of all results of the same kind, and print what they show."""
    from decoupling.experiments.curves_report import draw_curves, shapes, summarise, table

    found = summarise(results, like)
    findings = shapes(found, many)
    name = _name_of(like.training.network, like.inference)
    print_written([_tables(findings, table(found), folder / f"{name}.md")])
    print_written(draw_curves(found, like, folder / name))
    _say(findings)


def _tables(findings: list[Any], scores: str, path: Path) -> Path:
    """Write what was found, and all scores, in Markdown."""
    from decoupling._files import written_whole
    from decoupling.experiments.findings import shape_table

    with written_whole(path) as part:
        part.write_text(f"{shape_table(findings)}\n\n{scores}\n", encoding="utf-8")
    return path


def _say(findings: list[Any]) -> None:
    for finding in findings:
        console.print(
            f"\n{finding.claim}?\n  {'yes' if finding.holds else 'no'}: {finding.measured}"
        )


def _name_of(network: str, inference: tuple[tuple[str, Any], ...]) -> str:
    """Name of tables and figures, which differs for each network and way of inference."""
    return "-".join([network, *(f"{key}={value}" for key, value in inference)])


def _follow(done: Iterator[Any], total: int) -> None:
    """A bar with the time left; where nobody watches, a line for each cell."""
    if not console.is_terminal:
        for number, (config, run) in enumerate(done, start=1):
            console.print(f"{number} of {total}: {_described(config, run)}", markup=False)
        return
    with bar(console=console) as progress:
        task = progress.add_task("training", total=total)
        for config, run in done:
            progress.update(task, advance=1, description=_described(config, run))


def _described(config: Any, run: int) -> str:
    count, start = config.training.labels, dict(config.inference).get("start")
    return (
        f"run {run}, {config.task}, "
        + (f"{count} labels" if count else "ceiling")
        + (f", started from {start}" if start else "")
    )


def _number_or_auto(text: str) -> Any:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--evidence must be a number or auto; got {text!r}.") from None


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _integers(name: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} must be whole numbers with commas; got {text!r}.") from None
