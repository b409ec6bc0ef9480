"""Tables drawn at random, and options of the command line: what may come of them, and nothing else.

Either there is a right answer, perhaps with warnings; or a refusal in a sentence of ours, and then
nothing was written. `make nightly` draws hundreds of them.
"""

import contextlib
import csv
import gzip
import io
import os
import re
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet
from typer.testing import CliRunner

from decoupling.cli import app
from decoupling.persistence import describe
from decoupling.tables.reading import read_table
from decoupling.tables.units import NUMBER, TIME

EXAMPLES = int(os.environ.get("DECOUPLING_EXAMPLES", "40"))
SEEDS = st.integers(0, 2**32 - 1)
BAD_INPUT, NOT_CONVERGED = 2, 3
# Words of other libraries, and of Python, that nobody can do anything about.
FOREIGN = re.compile(
    r"Traceback|unexpected|RuntimeWarning|encountered in|field (limit|larger)|codec can't|Errno|"
    r"pyarrow|Arrow|Cannot (cast|convert)|\bNoneType\b|object has no attribute|out of bounds|"
    r"DataFrame|could not convert|dtype|ufunc|array\("
)


# ------------------------------------------------------------------------------- columns


def numbers(rng, n):
    """Numbers of many distributions, as Python writes them."""
    draws = [
        lambda: rng.normal(size=n).round(3),
        lambda: rng.lognormal(2, 2, n).round(4),
        lambda: rng.integers(0, 5, n),
        lambda: rng.integers(-(2**62), 2**62, n),
        lambda: np.full(n, 7),
        lambda: np.arange(n) + 5,
        lambda: rng.normal(size=n) * 1e-3,
    ]
    return [str(value) for value in draws[rng.integers(len(draws))]()]


def extremes(rng, n):
    words = ["1e300", "-1e39", "1e38", "1e-320", "inf", "", "nan", "0", "-0.0"]
    few = rng.choice(words if rng.random() < 0.2 else words[4:7], n)
    return np.where(rng.random(n) < 0.1, few, rng.normal(size=n).astype(str)).tolist()


def dates(rng, n):
    days = np.datetime64("2020-01-01") + rng.integers(0, 2000, n)
    forms = ["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y", "%Y-%m-%dT%H:%M:%S", "%Y", "%d %b %Y"]
    return [day.item().strftime(forms[rng.integers(len(forms))]) for day in days[:1]] + [
        day.item().strftime(forms[k]) for k in [rng.integers(len(forms))] for day in days[1:]
    ]


def signs(rng, n):
    """Per cent, money, thousands, decimal commas: of one kind or mixed."""
    forms = ["{:.1f}%", "${:,.2f}", "{:.2f} €", "{:,.0f}", "{:.3f}", "£{:.0f}", "{:.2f}"]
    values = rng.lognormal(3, 2, n)
    kinds = rng.integers(0, len(forms), n if rng.random() < 0.3 else 1)
    cells = [forms[kinds[k % len(kinds)]].format(value) for k, value in enumerate(values)]
    comma = rng.random() < 0.3
    return [cell.translate(str.maketrans(",.", ".,")) if comma else cell for cell in cells]


def categories(rng, n):
    words = [
        "red",
        "green",
        "blue",
        "Red ",
        "n/a",
        "NA",
        "0",
        "1",
        "true",
        "false",
        "Größe",
        "日本",
    ]
    return rng.choice(words[: rng.integers(1, len(words))], n).tolist()


def texts(rng, n):
    words = ["the", "cat", "sat", "on", "a", "mat", "why", "not", "über", "ça"]
    return [" ".join(rng.choice(words, rng.integers(1, 12))) for _ in range(n)]


def truths(rng, n):
    return rng.choice(
        [["true", "false"], ["True", "FALSE"], ["yes", "no"]][rng.integers(3)], n
    ).tolist()


def odd_texts(rng, n):
    """Cells that steer something else: spreadsheets, pages, terminals, readers of CSV."""
    words = [
        "=1+1", "@x", "<script>alert(1)</script>", "\x1b[31mred", "a,b;c\td", 'say "no"', "a\nb",
        "\u202egnp", "a\u200bb", "  blanks  ", "'tis", "$x^2$", "%s %d {0}", "[bold]x[/]", "\\",
        "\ufeff", "x" * 3000, "#", "-", "🐜", "e\u0301",
    ]  # fmt: skip
    return rng.choice(words, n).tolist()


def pictures(rng, n):
    paths = ["good.png", "bad.png", "gone.png", "post.eps", "sub/../good.png", ""]
    if rng.random() < 0.2:
        paths += ["../outside.png", "/dev/zero", "link.png"]
    cells = rng.choice(paths, n)
    cells[0] = "good.png"
    return cells.tolist()


COLUMNS = {
    "number": numbers,
    "extreme": extremes,
    "date": dates,
    "sign": signs,
    "category": categories,
    "text": texts,
    "truth": truths,
    "odd": odd_texts,
    "picture": pictures,
}
NAMES = [
    "x", "size", "Size", "label", "class", "row", "id", "p(ant)", "p_ant", "p_", "=cmd", "<b>x</b>",
    "", " x ", "größe", "a,b", 'a"b', "1", "unlabelled", "\x1b[31m", "index", "given", "n" * 300,
    "#a", "日本", "two\nlines", "PAR1", "sep=;", "\u202ex", "$x$",
]  # fmt: skip
LABELS = [
    ["ant", "bee", "cow"],
    ["0", "1", "2"],
    ["-1", "1"],
    ["true", "false"],
    ["yes", "no"],
    ["0.0", "0.1", "0.2"],
    ["1", "1.0", "2"],
    ["ant", "Ant", "ant "],
    ["caf\u00e9", "cafe\u0301", "tea"],
    ["2020-01-01", "2020-01-02"],
    ["=1+1", "<b>", "\x1b[31m"],
    ["007", "7", "08"],
    ["None", "none", "some"],
    ["a" * 3000, "b" * 3000],
    ["12%", "13%"],
    ["one"],
    ["ant", "bee"],
    ["x", "y", "z"],
    ["5", "6"],
    [str(k) for k in range(30)],
]
GAPS = ["", "NA", "nan", "?", "-", "unknown"]


def once_in(n):
    """True in one of so many cases."""
    return st.sampled_from([False] * (n - 1) + [True])


@dataclass
class Drawn:
    """A table and the options of a command."""

    names: list[str]
    columns: list[list[str]]
    kinds: list[str]
    options: list[str]
    form: dict[str, object]
    seed: int
    decisions: list[list[str]] | None = None
    folder: dict[str, object] = field(default_factory=dict)

    @property
    def n_rows(self):
        return len(self.columns[0])


@st.composite
def tables(draw):
    """A table with labels that have to do with its first column, and options that mostly fit."""
    seed = draw(SEEDS)
    rng = np.random.default_rng(seed)
    n = draw(st.sampled_from([90, 40, 60, 90, 60, 90, 120, 12, 3, 1]))
    kinds = draw(st.lists(st.sampled_from(sorted(COLUMNS)), max_size=6))
    kinds += ["number"] * (300 if draw(once_in(30)) else 1)
    columns = [COLUMNS[kind](rng, n) for kind in kinds]
    names = list(draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6)))
    names = [*names, *(f"c{k}" for k in range(len(kinds)))][: len(kinds)]
    if not draw(once_in(25)):
        names = [name if name not in names[:k] else f"c{k}" for k, name in enumerate(names)]
    values = draw(st.sampled_from(LABELS))
    codes = rng.integers(0, len(values), n)
    columns.append(
        [f"{3 * code + x:.3f}" for code, x in zip(codes, rng.normal(size=n), strict=True)]
    )
    wrong = np.where(rng.random(n) < 0.15, rng.integers(0, len(values), n), codes)
    hidden = rng.random(n) < draw(st.sampled_from([0, 0, 0.3, 0.3, 0.3, 0.9, 0.9, 1]))
    gap = draw(st.sampled_from(GAPS))
    labels = [gap if no else values[code] for no, code in zip(hidden, wrong, strict=True)]
    columns.append(labels)
    kinds = [*kinds, "number", "label"]
    label = draw(st.sampled_from(["label", "label", "the label", "y"]))
    names = [*(name if name != label else "other" for name in names), "signal", label]
    table = Drawn(names, columns, kinds, [], draw(forms()), seed)
    draw(with_options(table, label, gap, values, labels))
    return table


@st.composite
def forms(draw):
    """How a table is written to a file."""
    return {
        "parquet": draw(once_in(5)),
        "delimiter": draw(st.sampled_from([",", ",", ";", "\t", "|"])),
        "encoding": draw(
            st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "cp1252", "utf-16", "latin-1"])
        ),
        "end": draw(st.sampled_from(["\n", "\r\n"])),
        "quoting": draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        "gzip": draw(once_in(10)),
        "before": draw(st.sampled_from(["", "", "", "", "", "# made by hand\n", "sep=;\n", "\n"])),
        "damage": draw(st.sampled_from([None] * 20 + ["flip", "cut", "nul", "cell", "byte"])),
    }


@st.composite
def with_options(draw, table, label, gap, values, labels):
    """Options of `run`, most of which fit the table."""
    some = partial(st.sampled_from, table.names)

    def maybe(strategy, odds=6):
        return draw(strategy) if draw(once_in(odds)) else None

    given = [
        ("--label", None if draw(once_in(4)) else label),
        ("--id", maybe(some(), 12)),
        ("--exclude", maybe(some())),
        ("--numeric", maybe(some())),
        ("--categorical", maybe(some())),
        ("--unlabelled", maybe(st.sampled_from([gap if gap in labels else values[0], "odd"]), 4)),
        ("--label-proba", maybe(st.sampled_from(["p_", "p("]), 40)),
        ("--task", maybe(st.sampled_from(
            ["auto", "supervised", "semi-supervised", "noisy", "positive-unlabelled", "nonsense",
             "class-conditional-noise", "complementary", "multi-positive-unlabelled"]
        ), 4)),
        ("--noise", maybe(st.sampled_from(["0", "0.2", "1"]), 10)),
        ("--labelled", maybe(st.sampled_from(["0.5", "1"]), 12)),
        ("--estimator", draw(st.sampled_from(
            ["logistic", "logistic", "sklearn.naive_bayes:BernoulliNB",
             "sklearn.dummy:DummyClassifier"]
        ))),
        ("--delimiter", maybe(st.sampled_from([",", ";", "tab", "é", ";;"]), 20)),
        ("--encoding", maybe(st.sampled_from(["utf-8", "cp1252", "latin-1", "utf-16", "x"]), 30)),
        ("--decimal", maybe(st.sampled_from([".", ","]), 10)),
        ("--format", maybe(st.sampled_from(["csv", "parquet"]), 3)),
        ("--negative", maybe(st.sampled_from(["bee", "1"]), 12)),
    ]  # fmt: skip
    for name, value in given:
        if value is not None:
            table.options += [f"{name}={value}"]
    if "picture" in table.kinds and draw(st.booleans()):
        table.options.append(f"--image={table.names[table.kinds.index('picture')]}")
        table.options += ["--images-anywhere"] * draw(st.booleans())
    table.options += ["--raw-csv"] * draw(once_in(6))
    if draw(once_in(6)):
        words = st.sampled_from([*values, *values, "", "nobody"])
        rows = st.integers(0, table.n_rows - 1 + draw(once_in(10)))
        table.decisions = [
            [str(row), "?" if odd else labels[min(row, table.n_rows - 1)], decision, name]
            for row, odd, decision, name in draw(
                st.lists(
                    st.tuples(
                        rows,
                        once_in(10),
                        st.sampled_from(["accept", "change"] * 5 + ["reject", "maybe"]),
                        words,
                    ),
                    min_size=1,
                    max_size=3,
                )
            )
        ]


# --------------------------------------------------------------------------------- files


def as_parquet(table):
    """Columns with the types that they may have."""
    arrays = []
    for cells, kind in zip(table.columns, table.kinds, strict=True):
        plain = [cell or None for cell in cells]
        array = pa.array(plain, pa.string())
        if kind in ("number", "extreme", "label"):
            with contextlib.suppress(pa.ArrowInvalid):
                array = array.cast(pa.float32() if table.seed % 3 == 0 else pa.float64())
        if kind == "date":
            with contextlib.suppress(pa.ArrowInvalid):
                array = array.cast(pa.timestamp("ms"))
        if kind == "category" and table.seed % 2:
            array = array.dictionary_encode()
        arrays.append(array)
    out = io.BytesIO()
    parquet.write_table(pa.table(arrays, names=table.names), out)
    return out.getvalue()


def as_text(table):
    form = table.form
    text = io.StringIO()
    out = csv.writer(
        text, delimiter=form["delimiter"], lineterminator=form["end"], quoting=form["quoting"]
    )
    out.writerow(table.names)
    rows = [list(row) for row in zip(*table.columns, strict=True)]
    if form["damage"] == "cell":
        rows[len(rows) // 2].append("one more")
    out.writerows(rows)
    data = (form["before"] + text.getvalue()).encode(form["encoding"], "replace")
    if form["damage"] == "byte":
        data += "caf\u00e9\n".encode("cp1252")
    return gzip.compress(data, mtime=0) if form["gzip"] else data


def write(table, folder):
    """Write the table and what it names; return the path."""
    is_parquet = table.form["parquet"]
    data = as_parquet(table) if is_parquet else as_text(table)
    rng = np.random.default_rng(table.seed)
    if table.form["damage"] == "flip":
        changed = bytearray(data)
        changed[rng.integers(len(changed))] ^= 1 << rng.integers(8)
        data = bytes(changed)
    elif table.form["damage"] == "cut":
        data = data[: rng.integers(len(data) + 1)]
    elif table.form["damage"] == "nul":
        place = rng.integers(len(data) + 1)
        data = data[:place] + b"\0" + data[place:]
    path = folder / f"table.{'parquet' if is_parquet else 'csv'}"
    path.write_bytes(data)
    if "picture" in table.kinds:
        Image.new("L", (9, 9)).save(folder / "good.png")
        (folder / "bad.png").write_bytes((folder / "good.png").read_bytes()[:40])
        (folder / "post.eps").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
        (folder / "sub").mkdir()
        Image.new("L", (9, 9)).save(folder.parent / "outside.png")
        (folder / "link.png").symlink_to(folder.parent / "outside.png")
    if table.decisions is not None:
        with (folder / "decisions.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["row", "given", "decision", "class"], *table.decisions])
        table.options.append("--decisions=decisions.csv")
    return path


# ------------------------------------------------------------------------------ what is allowed


def called(*arguments):
    """Exit code and output of a command, which is within what is allowed."""
    found = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert found.exit_code in (0, BAD_INPUT, NOT_CONVERGED), (found.exit_code, found.output)
    told = "\n".join(
        line for line in found.output.splitlines() if line.startswith(("Error:", "Warning:"))
    )
    assert not FOREIGN.search(told), told
    assert "Traceback" not in found.output
    if found.exit_code == BAD_INPUT:
        assert "Error:" in found.output, found.output
        raised = found.exception.__context__.__cause__
        origin = traceback.extract_tb(raised.__traceback__)[-1].filename
        assert re.search(r"decoupling|sklearn", origin), (origin, raised)
    return found.exit_code, found.output


def assert_right(folder, n_rows):
    """The files of a run have all rows, and probabilities that are some."""
    (path,) = folder.glob("probabilities.*")
    found = read_table(path)
    assert len(found) == n_rows
    assert_distributions(found)
    assert len(read_table(folder / "labels.csv")) == n_rows
    assert "<script>alert" not in (folder / "report.html").read_text(encoding="utf-8")


def assert_distributions(found, tolerance=1e-9):
    names = [name for name in found.columns if name.startswith("p(")]
    proba = np.column_stack([found.column(name).to_numpy() for name in names]).astype(float)
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=tolerance)


def files(folder):
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.rglob("*")}


def assert_allowed(table, folder):
    """Check, run twice and apply; whatever ends otherwise than it may is an error."""
    path = write(table, folder)
    before = files(folder)
    quick = ["--rounds=0", "--folds=2"]
    of_run = {"--format", "--raw-csv"}
    options = [option for option in table.options if option.partition("=")[0] not in of_run]
    checked, said = called("check", path, *options, "--folds=2")
    assert files(folder) == before
    code, output = called("run", path, *table.options, *quick, "--out=out")
    if code == BAD_INPUT:
        assert files(folder) == before, "something is half written"
        return f"refused: {words(output)}"
    assert checked == 0, (said, output)
    n_rows = int(re.search(r": ([\d,]+) rows", output)[1].replace(",", ""))
    if table.form["damage"] is None:
        assert n_rows == table.n_rows
    assert_right(folder / "out", n_rows)
    assert called("run", path, *table.options, *quick, "--out=again")[0] == code
    for name in ("labels.csv", "transitions.csv"):
        assert (folder / "out" / name).read_bytes() == (folder / "again" / name).read_bytes()
    reading = {"--delimiter", "--encoding", "--decimal"}
    options = [option for option in table.options if option.partition("=")[0] in reading]
    applied, said = called("apply", "out", path, *options, "--out=new.csv", "--trust")
    assert applied == 0, said
    found = read_table(folder / "new.csv")
    assert len(found) == n_rows
    assert_distributions(found, 1e-4)
    assert "far outside" not in said
    assert_other_units_are_refused(table, folder, options)
    return "an answer with warnings" if "Warning:" in output else "an answer"


def assert_other_units_are_refused(table, folder, options):
    """Dates where the model had numbers, and numbers where it had dates, are no rows for it."""
    features = describe(folder / "out" / "model.decoupling")["about"]["features"]
    units = {feature["name"]: feature["unit"] for feature in features}
    for name, unit in units.items():
        if unit not in (TIME, NUMBER) or table.names.count(name) != 1:
            continue
        place, rows = table.names.index(name), range(table.n_rows)
        days = [f"2020-{1 + row % 12:02}-{1 + row % 28:02}" for row in rows]
        cells = days if unit == NUMBER else [str(43_831 + row) for row in rows]
        columns = [cells if k == place else column for k, column in enumerate(table.columns)]
        kinds = ["category" if k == place else kind for k, kind in enumerate(table.kinds)]
        other = replace(table, columns=columns, kinds=kinds, form=table.form | {"damage": None})
        path = folder / f"other.{'parquet' if table.form['parquet'] else 'csv'}"
        path.write_bytes(as_parquet(other) if table.form["parquet"] else as_text(other))
        code, said = called("apply", "out", path, *options, "--out=other-classes.csv", "--trust")
        assert code == BAD_INPUT, said
        assert re.search("in the rows that the model learned from|of the kind 'number'", said), said
        return


def words(output):
    """The beginning of an error without names and numbers, to count its kind."""
    told = re.search(r"Error: (.*)", output)[1]
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\d,.]+|\S+\.(csv|parquet)", "_", told)[:60]


@pytest.mark.filterwarnings(
    "ignore"
)  # the command line collects them; those of before it do no harm
@given(table=tables())
@settings(
    max_examples=max(EXAMPLES // 4, 12),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_table(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("any") / "here"
    folder.mkdir()
    with contextlib.chdir(folder):
        event(assert_allowed(table, folder))


def test_what_is_drawn_is_varied(tmp_path_factory):
    """Most tables are answered, many are refused: otherwise the test above would say little."""
    ends = Counter()

    @given(table=tables())
    @settings(max_examples=30, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    def draw(table):
        folder = tmp_path_factory.mktemp("varied")
        path = write(table, folder)
        with contextlib.chdir(folder):
            ends[called("check", path, "--folds=2")[0]] += 1

    draw()
    assert ends[0] > 3
    assert ends[BAD_INPUT] > 3
