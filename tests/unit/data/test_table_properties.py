"""Tables of every shape survive a file, and damaged ones are refused by row and never otherwise."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quorate.core.panel import Panel
from quorate.data.formats import ENDINGS
from quorate.data.synthetic import simulate
from quorate.data.table import Table, read_table, table_from_arrays, write_table
from quorate.errors import InputError, TableError

letters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
texts = st.text(letters, min_size=1, max_size=8).filter(lambda text: bool(text.strip()))
words = texts.map(str.strip)
numerals = st.sampled_from(["0", "1", "2", "3", "-1", "01", "1.0", "10"])


@contextmanager
def written(content: bytes, ending: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"votes{ending}"
        path.write_bytes(content)
        yield path


def several(names: st.SearchStrategy[str], number: int) -> st.SearchStrategy[list[str]]:
    return st.lists(names, min_size=number, max_size=number, unique=True)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    cases, experts, classifiers, classes = (
        draw(st.integers(low, high)) for low, high in ((1, 6), (1, 4), (1, 3), (2, 4))
    )
    panel = Panel(
        draw(st.one_of(several(words, classes), several(numerals, classes))),
        draw(several(words.map(lambda name: f"dr {name}"), experts)),
        draw(several(st.one_of(words, st.just("classifier")), classifiers)),
    )
    vote = st.integers(-1, classes - 1)
    row = st.lists(vote, min_size=experts, max_size=experts).filter(lambda votes: max(votes) >= 0)
    weight = st.one_of(st.floats(1e-300, 1), st.integers(0, 3).map(float))
    weights = st.lists(weight, min_size=classes, max_size=classes).filter(lambda given: sum(given) > 0)
    stated = weights.map(lambda given: [p / sum(given) for p in given])
    absent = st.just([np.nan] * classes)
    states = st.lists(st.one_of(stated, absent), min_size=classifiers, max_size=classifiers)
    return table_from_arrays(
        draw(st.lists(row, min_size=cases, max_size=cases)),
        draw(st.lists(states, min_size=cases, max_size=cases)),
        panel=panel,
        keys=draw(several(texts, cases)),
    )


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending != ".ndjson"])
@settings(max_examples=60, deadline=None)
@given(table=tables())
def test_every_table_survives_a_file(ending: str, table: Table) -> None:
    panel = table.panel
    with written(b"", ending) as path:
        write_table(table, path)
        again = read_table(path, classes=panel.classes, experts=panel.experts, classifiers=panel.classifiers)
    assert again == table
    assert again.votes.tolist() == table.votes.tolist()
    assert np.array_equal(again.probabilities, table.probabilities, equal_nan=True)


@settings(max_examples=60, deadline=None)
@given(table=tables(), data=st.data())
def test_a_selection_holds_the_same_cases(table: Table, data: st.DataObject) -> None:
    rows = data.draw(st.permutations(range(len(table))))
    chosen = table.select(rows)
    assert [chosen.case(place) for place in range(len(chosen))] == [table.case(row) for row in rows]


HEADER = ["item", "expert_1", "expert_2", "p_0", "p_1", "p_2"]
corruptions = st.one_of(
    st.tuples(st.sampled_from([1, 2]), st.sampled_from(["3", "-1", "x", "1.5", "nan", "None", "1e0", "\uff19"])),
    st.tuples(
        st.sampled_from([3, 4, 5]), st.sampled_from(["", "1.01", "-0.1", "nan", "inf", "x", "0,5", "1e999", "--1"])
    ),
    st.tuples(st.just(0), st.sampled_from(["", "  ", "case 1"])),
)


@settings(max_examples=150, deadline=None)
@given(rows=st.integers(2, 9), data=st.data())
def test_damage_to_a_row_is_blamed_on_that_row(rows: int, data: st.DataObject) -> None:
    lines = [[f"case {row}", "0", "2", "0.2", "0.3", "0.5"] for row in range(1, rows + 1)]
    bad = data.draw(st.sets(st.integers(2, rows), min_size=1))
    for row in bad:
        kind = data.draw(st.sampled_from(["cell", "short", "long", "silent"]))
        line = lines[row - 1]
        if kind == "cell":
            column, value = data.draw(corruptions)
            line[column] = value
        elif kind == "silent":
            line[1:3] = ["", ""]
        else:
            lines[row - 1] = line[:-1] if kind == "short" else [*line, "0"]
    text = "\n".join("\t".join(line) for line in [HEADER, *lines]) + "\n"
    with written(text.encode(), ".tsv") as path, pytest.raises(TableError) as caught:
        read_table(path)
    assert {problem.row for problem in caught.value.problems} == bad
    assert all(problem.message for problem in caught.value.problems)


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=100, deadline=None)
@given(
    content=st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "replace")))
)
def test_bytes_of_any_kind_are_read_or_refused(ending: str, content: bytes) -> None:
    with written(content, ending) as path, pytest.raises(TableError):
        read_table(path)


def _contents() -> dict[str, bytes]:
    table = simulate(np.random.default_rng(0), cases=4, experts=3, missing=0.3, classifiers=2)
    contents = {}
    for ending in ENDINGS:
        with written(b"", ending) as path:
            write_table(table, path)
            contents[ending] = path.read_bytes()
    return contents


CONTENTS = _contents()


@pytest.mark.parametrize("ending", ENDINGS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_read_or_refused(ending: str, data: st.DataObject) -> None:
    content = CONTENTS[ending]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 12)))
    damaged = content[:start] + data.draw(st.binary(max_size=6)) + content[end:]
    with written(damaged, ending) as path:
        try:
            table = read_table(path)
        except TableError as error:
            assert error.problems  # noqa: PT017  # a table is as good an answer as an error
        else:
            assert len(table) > 0


@settings(max_examples=100, deadline=None)
@given(
    names=st.lists(st.one_of(words, st.sampled_from(["item", "expert_1", "p_0", "p_1", "a.p_0", "a.p_1"])), max_size=8),
    classes=st.none() | st.lists(words, max_size=3),
    experts=st.none() | st.lists(words, max_size=3),
    classifiers=st.none() | st.lists(words, max_size=3),
)
def test_headers_of_any_kind_are_read_or_refused(
    names: list[str], classes: list[str] | None, experts: list[str] | None, classifiers: list[str] | None
) -> None:
    cells = ["0.5" if "p_" in name else "0" for name in names]
    text = "\n".join(",".join(f'"{part.replace(chr(34), "")}"' for part in line) for line in (names, cells))
    with written(text.encode(), ".csv") as path:
        try:
            table = read_table(path, classes=classes, experts=experts, classifiers=classifiers)
        except InputError as error:
            assert isinstance(error, TableError)  # noqa: PT017  # a table is as good an answer as an error
        else:
            assert len(table) == 1
