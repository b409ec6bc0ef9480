"""Tables made to do harm, or that do it by accident: what the command line makes of them."""

import json
import os
import re
import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from decoupling import DecouplingClassifier
from decoupling.run.about import About
from decoupling.run.outputs import new_rows
from decoupling.tables.problem import Roles, pose
from decoupling.tables.reading import Table, read_table
from decoupling.tables.writing import harmless

QUICK = ("--rounds", 0, "--folds", 2, "--force")
N = 90
POSTSCRIPT = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n(x) print\n%%EOF\n"


def picture(form="PNG", mode="RGB", **options):
    out = BytesIO()
    Image.radial_gradient("L").resize((40, 30)).convert(mode).save(out, form, **options)
    return out.getvalue()


def shown(page="out/report.html"):
    """How many thumbnails a page has."""
    return Path(page).read_text().count("data:image/png;base64")


@pytest.fixture
def pictured(table, command):
    """Run a table whose last pictures are given, half of its labels wrong; what was printed."""

    def run(*cells, options=()):
        Path("good.png").write_bytes(picture())
        table(pic=["good.png"] * (N - len(cells)) + list(cells), labels=["ant", "bee"] * (N // 2))
        return command(
            "run", "pets.csv", "--image", "pic", *QUICK, "--task", "noisy", *options, "--out", "out"
        )

    return run


# --------------------------------------------------------------------------- pictures


@pytest.mark.parametrize("name", ["x.eps", "x.png"])
def test_d01_no_picture_starts_a_program(pictured, monkeypatch, name):
    """Pillow hands PostScript to gs, whatever the name of the file is."""
    programs = []
    sys.addaudithook(lambda event, _: event == "subprocess.Popen" and programs.append(event))
    Path("bin").mkdir()
    gs = Path("bin/gs")
    gs.write_text('#!/bin/sh\n[ "$1" = --version ] && echo 10.0\nexit 0\n')
    gs.chmod(0o755)
    monkeypatch.setenv("PATH", f"{gs.parent.resolve()}{os.pathsep}{os.environ['PATH']}")
    Path(name).write_bytes(POSTSCRIPT)
    output = pictured(*[name] * (N - 1))
    assert "is damaged, or none of PNG, JPEG" in output
    assert programs == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_d02_devices_pipes_and_huge_files_are_not_read(pictured):
    os.mkfifo("pipe.png")
    with open("huge.png", "wb") as file:
        file.truncate(300_000_000)  # takes no room on the disk
    Path("folder.png").mkdir()
    for cell, why in [
        ("pipe.png", "is no file, but a folder, a device or a pipe"),
        ("folder.png", "is no file, but a folder, a device or a pipe"),
        ("huge.png", "has more than 200 MB"),
        ("/dev/zero", "is no file, but a folder, a device or a pipe"),
    ]:
        output = pictured(*[cell] * (N - 1), options=["--images-anywhere"])
        assert why in output


def test_d04_pictures_of_elsewhere_are_refused(table, pictured, command, refused, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("private")
    (elsewhere / "secret.png").write_bytes(picture())
    Path("linked").symlink_to(elsewhere)
    Path("link.png").symlink_to(elsewhere / "secret.png")
    Path("good.png").write_bytes(picture())
    Path("sub").mkdir()
    hostile = [
        str(elsewhere / "secret.png"),
        os.path.relpath(elsewhere / "secret.png"),
        "linked/secret.png",
        "link.png",
        "sub/../linked/../secret.png",
    ]
    for cell in hostile:
        table(pic=["good.png"] * (N - 1) + [cell])
        for first in ("check", "run"):
            output = refused(first, "pets.csv", "--image", "pic")
            assert "1 of the images are outside the folder of the table" in output
            assert "in row 89" in output
            assert "--images-anywhere" in output
    assert not Path("pets_labels").exists()
    # However it is written, what lies in the folder is shown.
    for cell in ("sub/../good.png", str(Path("good.png").resolve()), "./good.png"):
        table(pic=[cell] * N)
        command("check", "pets.csv", "--image", "pic")
    pictured(*[hostile[0]] * (N - 1), options=["--images-anywhere"])
    assert shown() > 20


@pytest.mark.parametrize(
    "damage",
    [
        lambda good: good[:60],
        lambda good: good.replace(b"IHDR", b"IHDX"),
        lambda good: good.replace(b"IDAT", b"ID\x00T"),
        lambda good: b"",
    ],
    ids=["cut", "header", "part", "empty"],
)
def test_d16_damaged_pictures_are_left_out_and_counted(pictured, damage):
    Path("bad.png").write_bytes(damage(picture()))
    output = pictured(*["bad.png"] * (N // 2))
    failed = int(re.search(r"(\d+) images of the report could not be shown", output)[1])
    assert failed > 0
    assert shown() > 0
    assert failed + shown() == len(
        json.loads(Path("out/report.json").read_text())["review"]["rows"]
    )


def test_d16_whatever_a_decoder_raises(pictured, monkeypatch):
    def broken(*_, **__):
        raise SyntaxError("broken PNG file")

    Path("good.png").write_bytes(picture())
    monkeypatch.setattr(Image.Image, "thumbnail", broken)
    from decoupling.tables.images import ImageColumn

    column = ImageColumn(pa.chunked_array([["good.png", "good.png"]]), Path())
    assert column[:] == [None, None]
    assert column.failed == {0: "is damaged", 1: "is damaged"}


def test_d16_what_else_is_in_a_picture_stays_out_of_the_page(pictured):
    """A colour profile of 100 kB would be too large for a page."""
    Path("heavy.png").write_bytes(picture(mode="L", icc_profile=os.urandom(100_000)))
    assert "could not be shown" not in pictured(*["heavy.png"] * N)
    assert shown() > 20


# ------------------------------------------------------------------------ units, ranges


DAYS = np.datetime64("2020-01-01") + np.random.default_rng(0).permutation(N)
NUMBERS = (DAYS - np.datetime64("1899-12-30")).astype(int)  # as Excel counts
SHARES = np.random.default_rng(1).random(N).round(3)


@pytest.fixture
def applied(table, command, refused):
    """Apply the model of one column to another; what is printed."""

    def apply(before, after, *options, code=0):
        table("old.csv", when=before)
        command("run", "old.csv", *QUICK, *options, "--out", "model")
        table("new.csv", when=after)
        with_code = command if code == 0 else refused
        return with_code("apply", "model", "new.csv", "--out", "new_classes.csv", "--force")

    return apply


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (DAYS, NUMBERS, "has plain numbers, such as '4"),
        (NUMBERS, DAYS, "has times, such as '2020-"),
        (DAYS, [str(day)[:4] for day in DAYS], "and had times"),
        (DAYS, NUMBERS * 86_400, "and had times"),
        (NUMBERS, [f"{day.item():%d.%m.%Y}" for day in DAYS], "has times, such as"),
    ],
    ids=["day numbers", "dates", "years", "seconds", "dates as texts"],
)
def test_d03_numbers_are_no_dates(applied, before, after, told):
    output = applied(before, after, code=2)
    assert told in output
    assert "Write it as it was there" in output
    assert not Path("new_classes.csv").exists()


def test_d03_shares_are_no_per_cents(applied):
    percent = [f"{100 * share:.1f}%" for share in SHARES]
    assert "has numbers in %, such as" in applied(SHARES, percent, code=2)
    output = applied(percent, SHARES, "--numeric", "when", code=2)
    assert "has plain numbers" in output
    assert "had numbers in %" in output
    # Without the sign only their range tells.
    output = applied(SHARES, 100 * SHARES)
    assert "Values are far outside the range that the model has learned from in 'when'" in output
    assert "where there were 0.0" in output


def test_d03_money(applied):
    money = [f"${share}" for share in SHARES]
    assert "Warning" not in applied(money, SHARES, "--numeric", "when")
    euros = [f"{share} €" for share in SHARES]
    assert "has numbers in €" in applied(money, euros, "--numeric", "when", code=2)


def test_d03_truth_values_for_numbers(applied):
    numbers = np.arange(N) % 2
    truth = [str(bool(number)).lower() for number in numbers]
    assert "has truth values, and had numbers" in applied(numbers + numbers % 3, truth)


def test_d03_one_slip_of_the_decimal_point(applied):
    slip = SHARES.copy()
    slip[7] = 1e6
    assert "such as 1e+06, where there were" in applied(SHARES, slip)


@pytest.mark.parametrize("seed", range(3))
def test_d03_ordinary_new_rows_are_no_reason_to_warn(applied, seed):
    rng = np.random.default_rng(seed)
    draws = {
        "normal": rng.normal,
        "log-normal": rng.lognormal,
        "counts": lambda size: rng.poisson(0.3, size),
        "exponential": rng.exponential,
    }
    for draw in draws.values():
        assert "far outside" not in applied(draw(size=N), draw(size=N))
    gaps = ["" if k % 3 else value for k, value in enumerate(SHARES)]
    assert "Warning" not in applied(SHARES, gaps)
    assert "Warning" not in applied(SHARES, [""] * N)


def test_d03_models_of_before_are_not_checked(applied, monkeypatch):
    import decoupling.run.about as about

    whole = about.asdict

    def without(feature):
        record = whole(feature)
        return {name: record[name] for name in ("name", "kind", "categories")}

    monkeypatch.setattr(about, "asdict", without)
    assert "Warning" not in applied(SHARES, 100 * SHARES)


# ------------------------------------------------------------------------------- width


class Counted:
    """A table of pyarrow that counts how often all of its names are listed."""

    def __init__(self, data):
        self.data = data
        self.listed = 0

    def __getattr__(self, name):
        self.listed += name in ("column_names", "schema")
        return getattr(self.data, name)


@pytest.mark.parametrize("n_columns", [10, 1000])
def test_d07_names_are_listed_once_however_many_columns_there_are(n_columns):
    """Each list takes as long as there are columns; time would grow with their square."""
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=40) for k in range(n_columns)}
    data = Counted(pa.table(columns | {"label": ["a", "b"] * 20}))
    table = Table(data, "wide.parquet")
    roles = Roles(exclude=list(columns)[: n_columns // 2])
    problem = pose(table, roles)
    about = About(of_a_run=True, features=problem.features)
    assert new_rows(table, about, DecouplingClassifier()).shape == (40, n_columns // 2)
    assert data.listed <= 2


# ----------------------------------------------------------------------- names of labels


def test_d10_labels_that_look_alike_are_warned_of(table, command):
    for one, other in [
        ("caf\u00e9", "cafe\u0301"),
        ("ant", "a\u200bnt"),
        ("ant", "Ant"),
        ("1", "1.0"),
        ("two words", "two  words"),
    ]:
        labels = [one, "bee", "cow"] * (N // 3)
        labels[9] = labels[12] = other
        table(labels=labels)
        output = command("check", "pets.csv")
        assert re.search(r"Warning: .* look alike and are kept apart", output), (one, other, output)
        assert "(28 rows, first 0)" in output
        assert "(2 rows, first 9)" in output


@pytest.mark.parametrize("byte", [b"caf\xe9", b"\xff"])
def test_d10_one_byte_that_is_no_utf8(table, refused, command, byte):
    """Read as cp1252, every other \u00e9 would be two letters."""
    table(labels=["caf\u00e9", "bee", "cow"] * (N // 3))
    path = Path("pets.csv")
    lines = path.read_bytes().split(b"\n")
    lines[17] = lines[17].rpartition(b",")[0] + b"," + byte + b"\r"
    path.write_bytes(b"\n".join(lines))
    output = refused("check", "pets.csv")
    assert (
        f"is UTF-8 but for 1 of its bytes, the first of them {byte[-1]:#04x} in line 18" in output
    )
    assert "give --encoding cp1252" in output
    assert "caf\u00c3\u00a9" in command("check", "pets.csv", "--encoding", "cp1252")


def test_d10_two_encodings(table, command):
    table(labels=["caf\u00e9", "bee", "cow"] * (N // 3))
    path = Path("pets.csv")
    lines = path.read_bytes().split(b"\n")
    half = b"\n".join(lines[20:]).decode().encode("cp1252")
    path.write_bytes(b"\n".join(lines[:20]) + b"\n" + half)
    output = command("check", "pets.csv")
    assert "letters look like UTF-8, the first in line 2" in output
    assert "give --encoding" in output
    path.write_bytes(
        path.read_bytes().decode("cp1252").replace("\u00c3\u00a9", "\u00e9").encode("cp1252")
    )
    assert "UTF-8" not in command("check", "pets.csv")


# -------------------------------------------------------------------------- kinds of files


@pytest.mark.parametrize("name", ["PAR1", "BZh", "BZh91AY&SY"])
def test_d17_headers_that_begin_like_other_formats(command, name):
    rows = "".join(f"{k * 7 % 11}.5,{k % 5},{'ab'[k % 2]}\n" for k in range(60))
    Path("items.csv").write_text(f"{name},PAR2,label\n{rows}")
    assert "60 rows, 3 columns" in command("check", "items.csv")


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"x" * (20 << 20), "line 1 has more than 16 MB"),
        (b"x,label\n1,a\n" + b"x" * (20 << 20), "line 3 has more than 16 MB"),
        (b"x,label\n1,a\n2," + b"y" * (17 << 20) + b"\n3,a\n", "line 3 has more than 16 MB"),
        (b'x,label\n1,a\n2,"' + b"y\n" * (9 << 20) + b'"\n3,a\n', "a row of more than 16 MB"),
        (b"x,label\n1,a\n2," + b"y" * (15 << 20) + b"\n3,a\n", "the label of row 1 .* 15,728,640"),
        (b"x" * 200_000 + b",label\n1,a\n", "A cell of the header has more than 131,072"),
    ],
    ids=["no line", "last line", "a cell", "a row", "a label", "a name"],
)
def test_d18_lines_without_end(refused, content, told):
    Path("long.csv").write_bytes(content)
    output = refused("check", "long.csv", "--label", "label")
    assert re.search(told, output), output[:500]
    assert "field" not in output


def test_d18_what_is_within_the_limit(command):
    rows = "".join(f"{k * 7 % 11}.5,{'ab'[k % 2]}\n" for k in range(60))
    Path("long.csv").write_text(
        f"x,label,why\n{rows}".replace("\n", ',"a\nb"\n')[:-7] + "\n", "utf-8"
    )
    long = "y" * (15 << 20)
    Path("long.csv").write_text(
        "x,label,why\n" + rows.replace("\n", ',"a\nb"\n') + f'1,a,"{long}"\n'
    )
    assert "61 rows" in command("check", "long.csv")


# ----------------------------------------------------------------------- labels in Parquet


def parquet_of(labels, path="pets.parquet"):
    rng = np.random.default_rng(0)
    codes = np.unique([str(label) for label in labels], return_inverse=True)[1]
    x = 3 * codes + rng.normal(size=len(labels))
    parquet.write_table(
        pa.table({"size": x, "weight": rng.normal(size=len(x)), "label": labels}), path
    )
    return path


@pytest.mark.parametrize("odd", [" ant", "", " ", "'ant", "=ant"])
def test_d22_decisions_on_labels_with_blanks(command, odd):
    """The file of decisions is one of text, in which blanks and empty names are told from none."""
    path = parquet_of([odd, "bee", None] * 30)
    cell = harmless(odd)
    Path("decisions.csv").write_text(
        "row,given,decision,class\r\n"
        f"0,{cell},change,bee\r\n1,bee,change,{cell}\r\n2,,accept,{cell}\r\n3,{cell},reject,{cell}\r\n"
    )
    command("run", path, "--decisions", "decisions.csv", *QUICK, "--out", "out")
    table = read_table("out/probabilities.parquet")
    chosen = [table.column(f"p({odd})")[k].as_py() for k in range(4)]
    assert chosen == [0, 1, 1, 1]


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32()])
def test_d22_labels_that_are_fractions(command, kind):
    values = [0.0, 0.1, 0.2] * 30
    path = parquet_of(pa.array(values, kind))
    Path("pets.csv").write_text(
        "size,label\n" + "".join(f"{k % 7}.5,{value}\n" for k, value in enumerate(values))
    )
    for file in (path, "pets.csv"):
        assert "labels in 'label': 0.0 30, 0.1 30, 0.2 30" in command("check", file)
