"""Files of every kind: read as they are meant, or refused with what and where."""

import bz2
import gzip
import warnings
from datetime import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from decoupling.tables.reading import TableError, read_table

PLAIN = "x,y,label\n1,2.5,a\n3,,b\n"
COMMAS = "x;y;label\n1;2,5;\u00e9\n3;4,0;b\n"


def read(tmp_path, content, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(path, **options)


def columns(table):
    return table.data.to_pydict()


def test_plain(tmp_path):
    table = read(tmp_path, PLAIN)
    assert columns(table) == {"x": [1, 3], "y": [2.5, None], "label": ["a", "b"]}
    assert table.guesses == {"delimiter": ","}
    assert len(table) == 2
    assert table.columns == ["x", "y", "label"]


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", None),
        ("utf-8-sig", "utf-8-sig"),
        ("latin-1", "cp1252"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
    ],
)
@pytest.mark.parametrize("compressed", [False, True])
def test_encodings(tmp_path, encoding, told, compressed):
    content = (COMMAS * 1).encode(encoding)
    table = read(tmp_path, gzip.compress(content) if compressed else content)
    assert columns(table) == {"x": [1, 3], "y": [2.5, 4.0], "label": ["\u00e9", "b"]}
    assert table.guesses.get("encoding") == told
    assert table.guesses["decimal"] == ","
    assert table.guesses["delimiter"] == ";"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters(tmp_path, delimiter):
    lines = ["a b,c", "1", "label"], ["x;y", "2", "yes"], ["t\tu", "3", "no"]
    text = "\n".join(delimiter.join(f'"{cell}"' for cell in line) for line in lines)
    table = read(tmp_path, text)
    assert columns(table) == {"a b,c": ["x;y", "t\tu"], "1": [2, 3], "label": ["yes", "no"]}


def test_what_is_given_is_not_guessed(tmp_path):
    table = read(tmp_path, COMMAS, delimiter=";", encoding="utf-8", decimal=".")
    assert table.guesses == {}
    assert columns(table)["y"] == ["2,5", "4,0"]


def test_quotes(tmp_path):
    table = read(tmp_path, 'text,label\n"two\nlines",1\n"a ""b"", c",2\n')
    assert columns(table) == {"text": ["two\nlines", 'a "b", c'], "label": [1, 2]}


def test_kinds_of_columns(tmp_path):
    table = read(
        tmp_path, "code,day,many,gap,word\n0123,2020-01-02,1,,NA\n4567,2020-03-04,2.5,,x\n"
    )
    assert columns(table) == {
        "code": ["0123", "4567"],  # zeros in front belong to a name
        "day": [datetime(2020, 1, 2), datetime(2020, 3, 4)],
        "many": [1.0, 2.5],
        "gap": [None, None],
        "word": ["NA", "x"],  # who knows
    }


def test_numbers_with_gaps_and_truth_values(tmp_path):
    table = read(tmp_path, "a,b,c\n1.5,True,1\nNA,FALSE,?\n?,,3\n")
    assert columns(table) == {"a": [1.5, None, None], "b": [True, False, None], "c": [1, None, 3]}
    assert table.as_written("a").to_pylist() == ["1.5", "NA", "?"]


def test_quoted_cells_may_be_empty(tmp_path):
    table = read(tmp_path, '"a","label"\n"1","x"\n"",""\n" 2 "," y "\n')
    assert columns(table) == {"a": [1, None, 2], "label": ["x", None, "y"]}


def test_long_cells(tmp_path):
    table = read(tmp_path, f"x;label\n{'a,' * 200_000};b\nc;d\n")
    assert [len(cell) for cell in columns(table)["x"]] == [400_000, 1]


def test_wide_tables(tmp_path):
    names = [f"a long name of column {k}" for k in range(20_000)]
    text = ",".join(names) + "\n" + ",".join(["1"] * 20_000) + "\n"
    assert read(tmp_path, text).columns == names


def test_columns_without_a_name(tmp_path):
    assert read(tmp_path, ",label\n0,a\n1,b\n").columns == ["column 1", "label"]


@pytest.mark.parametrize("delimiter", [";", "\t", "^"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_delimiter_may_stand_in_the_first_line(tmp_path, delimiter, end):
    lines = [f"sep={delimiter}", f"x{delimiter}label", f"1,5{delimiter}a,b", f"2,5{delimiter}c"]
    table = read(tmp_path, end.join(lines) + end, encoding="utf-8-sig")
    assert columns(table) == {"x": [1.5, 2.5], "label": ["a,b", "c"]}
    told = {"\t": "tab"}.get(delimiter, delimiter)
    assert table.guesses == {"delimiter": told, "header": "line 2", "decimal": ","}


@pytest.mark.parametrize(
    ("before", "line"),
    [
        ("# made by hand\n", 2),
        ("# a, b\n#\n\n# c\n", 5),
        ("#,\n#a\n", 3),
        ("sep=,\n# a\n", 3),
    ],
)
def test_comments_before_the_header(tmp_path, before, line):
    table = read(tmp_path, before + "x,label\n1,a\n2,# b\n")
    assert columns(table) == {"x": [1, 2], "label": ["a", "# b"]}
    assert table.guesses["header"] == f"line {line}"


def test_a_header_may_begin_like_a_comment(tmp_path):
    assert read(tmp_path, "#x\tlabel\n1\ta\n").columns == ["#x", "label"]
    assert read(tmp_path, "## v1\n#x\tlabel\n1\ta\n").columns == ["#x", "label"]
    assert read(tmp_path, "#x,label\n#1,a\n").columns == ["#x", "label"]


def test_decimal_commas_are_found_wherever_they_are(tmp_path):
    rows = [f"{k};a" for k in range(50_000)]
    table = read(tmp_path, "x;label\n" + "\n".join([*rows, "1,5;b"]) + "\n")
    assert columns(table)["x"][-1] == 1.5
    assert table.guesses["decimal"] == ","


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ('x,label\n"1,234",a\n"5,678",b\n', ["1,234", "5,678"]),  # thousands, perhaps
        ('x,label\n"1,23",a\n"5,678",b\n', [1.23, 5.678]),
        ("x;label\n1,234;a\n5,678;b\n", [1.234, 5.678]),
        ("x;y;label\n1,5;0.5;a\n2,5;0.5;b\n", ["1,5", "2,5"]),  # one of both
        ("x;label\n1,5;a\nno;b\nno;b\nno;b\n", ["1,5", "no", "no", "no"]),
    ],
)
def test_which_sign_is_the_decimal_one(tmp_path, text, cells):
    assert columns(read(tmp_path, text))["x"] == cells


@pytest.mark.parametrize("content", ["x,y\r\n1,2\r\n", "x,y\n1,2", "x,y\n1,2\n\n"], ids=repr)
def test_ends_of_lines(tmp_path, content):
    assert columns(read(tmp_path, content)) == {"x": [1], "y": [2]}


def test_parquet(tmp_path):
    label = pa.array(["a", None]).dictionary_encode()
    data = pa.table({"x": [1, 2], "label": label, "gap": pa.nulls(2)})
    parquet.write_table(data, tmp_path / "table.parquet")
    table = read_table(tmp_path / "table.parquet")
    assert columns(table) == {"x": [1, 2], "label": ["a", None], "gap": [None, None]}
    assert table.data.schema.types == [pa.int64(), pa.string(), pa.float64()]
    assert table.guesses == {}


def test_parquet_with_two_columns_of_one_name(tmp_path):
    parquet.write_table(pa.table([[1], [2]], names=["x", "x"]), tmp_path / "table.parquet")
    with pytest.raises(TableError, match="more than one column called 'x'"):
        read_table(tmp_path / "table.parquet")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "table.csv is empty"),
        (b"\n\n", "has no text"),
        (b"x,y\n", "has a header and no rows"),
        (b"x,y,x\n1,2,3\n", "more than one column called 'x'"),
        (b"x,y\n1,2\n1,2,3\n4\n", "2 of its rows .* line 3 has 3; line 4 has 1"),
        (b'x,y\n"1\n1",2\n\n1,2,3\n', "1 of its rows .* line 5 has 3"),
        (b"A title\nx,y\n1,2\n3,4\n", r"line 2 has 2; .* Is line 1 the header\?"),
        (b"# made by hand\n#\nx,y\n1\n", "line 4 has 1"),
        (b"x,y\n1,2\n3,\x004\n", "line 3 has a NUL character"),
        (b'x,y\n"1,2\n3,4\n', "line 2 has 1"),
        (b"x,y\n1," + b"a" * 200_000 + b"\n1\n", "line 3 has 1"),
        (b'x,y\n1,2\n3,"4\n5,6\n7,8\n', "line 3: a quote is opened and never closed"),
        (gzip.compress(b"x,y\n1,2\n" * 1000, mtime=0)[:-20], "its end is missing or damaged"),
        (b"\x1f\x8bnonsense", "missing or damaged"),
        (b"PK\x03\x04nonsense", "an Excel workbook or a zip file. Save its sheet"),
        (bz2.compress(b"x,y\n1,2\n"), "compressed with bzip2"),
        (b"PAR1\x15\x00nonsense", "begins like a Parquet file, and is none"),
        (b"x,y\n1,\x81\x8d\n", "is not cp1252"),
    ],
    ids=lambda value: repr(value)[:30],
)  # fmt: skip
def test_what_cannot_be_read(tmp_path, content, message):
    with pytest.raises(TableError, match=message):
        read(tmp_path, content)


def test_a_line_without_end(tmp_path):
    with pytest.raises(TableError, match=r"table.csv, line 2 has more than 16 MB"):
        read(tmp_path, b"x,y\n" + b"1" * (40 << 20))
    with pytest.raises(TableError, match="a row of more than 16 MB, or a quote that is never"):
        read(tmp_path, b'x,y\n"' + b"1\n" * (20 << 20))


def test_encoding_that_does_not_fit(tmp_path):
    with pytest.raises(TableError, match="is not ascii: byte 0xc3"):
        read(tmp_path, COMMAS, encoding="ascii")
    for name in ("klingon", "rot13", "zlib"):
        with pytest.raises(TableError, match="none of texts that Python knows"):
            read(tmp_path, COMMAS, encoding=name)


def test_no_file(tmp_path):
    with pytest.raises(TableError, match="does not exist"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)


def test_column_that_is_not_there(tmp_path):
    table = read(tmp_path, PLAIN)
    with pytest.raises(TableError, match=r"no column 'labl'. Did you mean 'label'\?"):
        table.column("labl")
    wide = read(tmp_path, ",".join(f"c{k}" for k in range(99)) + "\n" + "1," * 98 + "1\n")
    with pytest.raises(TableError, match="c19 and 79 more"):
        wide.column("nothing like it")


@given(data=st.binary(max_size=300))
def test_any_bytes_are_a_table_or_refused(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "table.csv"
    path.write_bytes(data)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* its letters look like UTF-8")
            table = read_table(path)
    except TableError:
        return
    assert len(table) > 0
    assert table.columns
