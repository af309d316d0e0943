from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path

import numpy as np
import pytest

from quorate.core.panel import Panel
from quorate.data.synthetic import simulate
from quorate.data.table import Table, read_table, table_from_arrays, write_table
from quorate.errors import InputError, TableError

HEADER = "item,expert_1,expert_2,p_0,p_1"
Reader = Callable[..., Table]


@pytest.fixture
def read(tmp_path: Path) -> Reader:
    """Read lines of text as a table."""

    def from_lines(*lines: str, name: str = "votes.csv", **names: list[str]) -> Table:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_table(path, **names)

    return from_lines


def problems(read: Reader, *lines: str, name: str = "votes.csv", **names: list[str]) -> list[tuple[int | None, str]]:
    with pytest.raises(TableError) as caught:
        read(*lines, name=name, **names)
    return [(problem.row, problem.message) for problem in caught.value.problems]


class TestReading:
    def test_a_plain_table(self, read: Reader) -> None:
        table = read(HEADER, "a,0,1,0.7,0.3", "b,1,,0.2,0.8")
        assert table.panel == Panel(["0", "1"], ["expert_1", "expert_2"])
        assert table.keys == ("a", "b")
        assert table.votes.tolist() == [[0, 1], [1, -1]]
        assert table.probabilities.tolist() == [[[0.7, 0.3]], [[0.2, 0.8]]]

    def test_a_case_has_no_votes_yet_and_those_who_voted_can_be_asked(self, read: Reader) -> None:
        case = read(HEADER, "a,0,,0.7,0.3", "b,1,1,,").case(0)
        assert (case.key, case.votes, case.available, case.probabilities) == ("a", (), (True, False), ((0.7, 0.3),))

    def test_probabilities_that_are_all_empty_are_missing(self, read: Reader) -> None:
        table = read(HEADER, "a,0,1,0.7,0.3", "b,1,1,,")
        assert np.isnan(table.probabilities[1]).all()
        assert table.case(1).probabilities == (None,)

    def test_named_classes_and_experts_in_their_order(self, read: Reader) -> None:
        names = {"classes": ["normal", "abnormal"], "experts": ["cho", "ann"]}
        table = read("case,ann,cho,p_0,p_1", "x,normal,abnormal,0.5,0.5", "y,1,0,0.5,0.5", **names)
        assert table.panel == Panel(["normal", "abnormal"], ["cho", "ann"])
        assert table.votes.tolist() == [[1, 0], [0, 1]]

    def test_classes_called_like_numbers_are_names_not_indices(self, read: Reader) -> None:
        lines = ("expert_1,p_0,p_1", "1,0.5,0.5", "2,0.5,0.5")
        assert read(*lines, classes=["1", "2"]).votes.tolist() == [[0], [1]]
        assert read(*lines, classes=["2", "1"]).votes.tolist() == [[1], [0]]
        found = problems(read, *lines, "0,0.5,0.5", classes=["1", "2"])
        assert found == [(3, "expert_1: unknown class '0'; expected one of 1, 2")]

    def test_experts_by_number_not_by_letter(self, read: Reader) -> None:
        table = read("expert_10,expert_2,expert_1,p_0,p_1", "0,1,0,0.5,0.5")
        assert table.panel.experts == ("expert_1", "expert_2", "expert_10")
        assert table.votes.tolist() == [[0, 1, 0]]

    @pytest.mark.parametrize("key", ["item", "item_id", "case"])
    def test_the_key_column(self, read: Reader, key: str) -> None:
        assert read(f"expert_1,p_0,p_1,{key}", "0,0.5,0.5,007").keys == ("007",)

    def test_the_row_number_is_the_key_where_there_is_none(self, read: Reader) -> None:
        assert read("expert_1,p_0,p_1", "0,0.5,0.5", "1,0.5,0.5").keys == ("1", "2")

    def test_several_classifiers(self, read: Reader) -> None:
        header = "expert_1,vit.p_0,vit.p_1,resnet.p_0,resnet.p_1"
        table = read(header, "0,0.9,0.1,0.6,0.4", "0,,,0.6,0.4")
        assert table.panel.classifiers == ("vit", "resnet")
        assert table.case(1).probabilities == (None, (0.6, 0.4))
        one = read(header, "0,0.9,0.1,0.6,0.4", classifiers=["resnet"])
        assert one.panel.classifiers == ("resnet",)
        assert one.probabilities.tolist() == [[[0.6, 0.4]]]

    def test_the_only_classifier_can_be_named(self, read: Reader) -> None:
        table = read("expert_1,p_0,p_1", "0,0.9,0.1", classifiers=["vit"])
        assert table.panel.classifiers == ("vit",)

    def test_named_and_unnamed_classifiers_side_by_side(self, read: Reader) -> None:
        lines = ("expert_1,p_0,p_1,vit.p_0,vit.p_1", "0,0.9,0.1,0.6,0.4")
        assert "say which classifiers to read" in problems(read, *lines)[0][1]
        both = read(*lines, classifiers=["vit", "classifier"])
        assert both.probabilities.tolist() == [[[0.6, 0.4], [0.9, 0.1]]]
        assert "no columns vlt.p_0" in problems(read, *lines, classifiers=["vlt"])[0][1]

    def test_sums_within_the_tolerance_are_normalised(self, read: Reader) -> None:
        table = read("expert_1,p_0,p_1", "0,0.50004,0.50004", "1,0,1")
        assert table.probabilities.tolist() == [[[0.5, 0.5]], [[0.0, 1.0]]]

    def test_extra_columns_blank_lines_spaces_bom_and_crlf(self, tmp_path: Path) -> None:
        path = tmp_path / "votes.csv"
        text = "\ufeffitem, expert_1 ,note,p_0,p_1\r\n\r\na, 1.0 ,hello, 0.25,0.75\r\n\r\nb,,,,\r\n"
        path.write_bytes(text.replace("b,,,,", "b,0,,0.5,0.5").encode())
        table = read_table(path)
        assert table.panel.experts == ("expert_1",)
        assert table.votes.tolist() == [[1], [0]]
        assert table.keys == ("a", "b")

    def test_json_lines_with_numbers_names_and_absent_keys(self, read: Reader) -> None:
        first = '{"item": 7, "expert_1": 1, "expert_2": 0, "p_0": 0, "p_1": 1, "tags": ["x"]}'
        second = '{"item": "b", "expert_2": "1", "p_0": "0.5", "p_1": 0.5, "expert_1": null}'
        table = read(first, "", second, name="votes.jsonl")
        assert table.keys == ("7", "b")
        assert table.votes.tolist() == [[1, 0], [-1, 1]]

    def test_twenty_thousand_rows_take_well_under_two_seconds(self, tmp_path: Path) -> None:
        table = simulate(np.random.default_rng(0), cases=20_000, missing=0.1)
        write_table(table, tmp_path / "large.csv")
        start = time.perf_counter()
        assert read_table(tmp_path / "large.csv") == table
        assert time.perf_counter() - start < 2


class TestBadTables:
    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ("c,0,1,1.2,-0.2", "p_0 is 1.2; expected a number from 0 to 1"),
            ("c,0,1,1.2,-0.2", "p_1 is -0.2; expected a number from 0 to 1"),
            ("c,0,1,nan,0.5", "p_0 is nan; expected a number from 0 to 1"),
            ("c,0,1,inf,0.5", "p_0 is inf; expected a number from 0 to 1"),
            ("c,0,1,0.6,0.6", "p_0 to p_1 sum to 1.2; expected 1 within 0.0001"),
            ("c,0,1,0,0", "p_0 to p_1 sum to 0; expected 1 within 0.0001"),
            ("c,0,1,half,0.5", "p_0 is 'half'; expected a number from 0 to 1"),
            ("c,0,1,0.2_5,0.75", "p_0 is '0.2_5'; expected a number from 0 to 1"),
            ("c,0,1,,0.5", "p_0 empty beside other probabilities; fill all of a classifier's columns or none"),
            ("c,2,1,0.5,0.5", "expert_1: unknown class '2'; expected one of 0, 1"),
            ("c,0,-1,0.5,0.5", "expert_2: unknown class '-1'; expected one of 0, 1"),
            ("c,0,NA,0.5,0.5", "expert_2: unknown class 'NA'; expected one of 0, 1"),
            ("c,0.5,1,0.5,0.5", "expert_1: unknown class '0.5'; expected one of 0, 1"),
            ("c,,,0.5,0.5", "no expert voted; expected at least one vote"),
            ("a,0,1,0.5,0.5", "its key 'a' is already that of row 1"),
            (" ,0,1,0.5,0.5", "its key is empty; expected a text of its own"),
            ("c,0,1,0.5", "has 4 fields, expected 5 as in the header"),
            ("c,0,1,0.5,0.5,9", "has 6 fields, expected 5 as in the header"),
        ],
    )
    def test_a_bad_row_is_named_by_its_number(self, read: Reader, row: str, message: str) -> None:
        found = problems(read, HEADER, "a,0,1,0.7,0.3", "b,0,1,0.7,0.3", row, "d,0,1,0.7,0.3")
        assert (3, message) in found
        assert {number for number, _ in found} == {3}

    def test_every_bad_row_is_reported_in_order(self, read: Reader) -> None:
        with pytest.raises(TableError) as caught:
            read(HEADER, "a,0,1,0.7,0.4", "b,0,9,0.7,0.3", "c,0", "a,0,1,5,0.3", "e,1,1,0.5,0.5")
        assert [problem.row for problem in caught.value.problems] == [1, 2, 3, 4, 4]
        assert "row 1: p_0 to p_1 sum to 1.1" in str(caught.value)
        assert "and 2 more" in str(caught.value)

    def test_one_row_may_have_several_problems(self, read: Reader) -> None:
        found = problems(read, HEADER, "a,7,x,0.7,0.4", "b,0,0,0.5,0.5")
        assert [row for row, _ in found] == [1, 1, 1]

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            (
                ["item,a,b,p_0,p_1", "x,0,1,.5,.5"],
                "no columns expert_1, expert_2, ...; name the columns that hold votes",
            ),
            (
                ["item,expert_1", "x,0"],
                "no columns p_0, p_1, ... of a classifier's probabilities; the columns are item",
            ),
            (["expert_1,p_0", "0,1"], "only one class (p_0 alone); at least 2 are needed"),
            (["expert_1,p_0,p_2", "0,.5,.5"], "no column p_1, but p_2"),
            (["expert_1,p_1,p_2", "0,.5,.5"], "no column p_0, but p_2"),
            (["expert_1,expert_1,p_0,p_1", "0,0,.5,.5"], "more than one column named 'expert_1'"),
            ([HEADER], "has a header but no rows"),
            ([HEADER, "a,,,.5,.5", "b,,,.5,.5"], "no expert voted on any case"),
            (["expert_1,a.p_0,a.p_1,b.p_0,b.p_1,b.p_2", "0,.5,.5,.5,.5,0"], "a has 2, b has 3; expected the same"),
            (
                [HEADER, "a,normal,abnormal,.5,.5"],
                "votes are class names such as 'normal'; name the classes in index order",
            ),
        ],
    )
    def test_a_problem_of_the_whole_table(self, read: Reader, lines: list[str], message: str) -> None:
        found = problems(read, *lines)
        assert [row for row, _ in found] == [None]
        assert message in found[0][1]

    def test_votes_that_are_all_numbers_of_no_class_are_not_taken_for_names(self, read: Reader) -> None:
        assert problems(read, "expert_1,p_0,p_1", "7,.5,.5") == [
            (1, "expert_1: unknown class '7'; expected one of 0, 1")
        ]

    def test_names_that_do_not_fit(self, read: Reader) -> None:
        lines = (HEADER, "a,0,1,0.7,0.3")
        missing = problems(read, *lines, experts=["expert_1", "zed", "yan"])
        assert missing == [(None, "no column for experts zed, yan; the columns are item, expert_1, expert_2, p_0, p_1")]
        assert "3 classes are named (a, b, c), but the prob" in problems(read, *lines, classes=["a", "b", "c"])[0][1]
        assert "'a' is named twice" in problems(read, *lines, classes=["a", "a"])[0][1]
        assert "named twice" in problems(read, *lines, experts=["expert_1", "expert_1"])[0][1]
        assert "at least 1 experts" in problems(read, *lines, experts=[])[0][1]
        assert "at least 1 classifiers" in problems(read, *lines, classifiers=[])[0][1]
        with pytest.raises(TableError, match="must be a list of names, not the single text 'ab'"):
            read(*lines, classes="ab")

    def test_every_problem_of_the_header_is_told(self, read: Reader) -> None:
        found = problems(read, "item,votes", "a,0")
        assert len(found) == 2

    def test_rows_that_do_not_fit_are_not_reported_twice(self, read: Reader) -> None:
        assert problems(read, HEADER, "a", "b") == [
            (1, "has 1 fields, expected 5 as in the header"),
            (2, "has 1 fields, expected 5 as in the header"),
        ]

    def test_open_quotes(self, read: Reader) -> None:
        found = problems(read, HEADER, "a,0,1,0.7,0.3", '"b,0,1,0.7,0.3')
        assert found[0][0] == 2
        assert "check its quotes" in found[0][1]

    def test_json_lines(self, read: Reader) -> None:
        good = json.dumps({"expert_1": 0, "p_0": 0.5, "p_1": 0.5})
        lines = [good, "[1]", "{bad", '{"expert_1": 0, "expert_1": 1}', '{"expert_1": [0], "p_0": true, "p_1": 0.5}']
        found = problems(read, *lines, name="votes.jsonl")
        assert found[0] == (2, 'is not a JSON object such as {"expert_1": 0, "p_0": 0.9, ...}')
        assert found[1][0] == 3
        assert "is not JSON" in found[1][1]
        assert found[2] == (4, "names 'expert_1' twice")
        assert found[3:] == [
            (5, "expert_1: unknown class '[0]'; expected one of 0, 1"),
            (5, "p_0 is 'True'; expected a number from 0 to 1"),
        ]

    def test_json_of_another_shape(self, read: Reader) -> None:
        deep = "[" * 100_000
        huge = '{"expert_1": 0, "p_0": 1' + "0" * 5000 + ', "p_1": 0}'
        half = '{"item": "\\ud800", "expert_1": 0, "p_0": 0.5, "p_1": 0.5}'
        large = '{"item": "x", "expert_1": 1' + "0" * 400 + ', "p_0": 1' + "0" * 400 + ', "p_1": 0}'
        rows = [row for row, _ in problems(read, half, deep, huge, large, name="votes.jsonl")]
        assert rows == [1, 2, 3, 4, 4]


class TestArrays:
    def test_names_are_made_up(self) -> None:
        table = table_from_arrays(np.array([[0, np.nan], [2, -1]]), np.full((2, 2, 3), 1 / 3))
        assert table.panel == Panel(["0", "1", "2"], ["expert_1", "expert_2"], ["classifier_1", "classifier_2"])
        assert table.votes.tolist() == [[0, -1], [2, -1]]
        assert table.keys == ("1", "2")

    def test_arrays_are_copied_and_cannot_be_changed(self) -> None:
        votes = np.array([[0, 1]])
        table = table_from_arrays(votes, [[0.5, 0.5]])
        votes[0, 0] = 1
        assert table.votes[0, 0] == 0
        with pytest.raises(ValueError, match="read-only"):
            table.votes[0, 0] = 1
        with pytest.raises(FrozenInstanceError):
            table.keys = ()  # type: ignore[misc]  # must fail

    @pytest.mark.parametrize(
        ("votes", "probabilities", "keys", "row", "message"),
        [
            ([[0], [2]], [[0.5, 0.5]] * 2, None, 2, "expert_1: unknown class 2; expected 0 to 1, or -1 for none"),
            ([[0], [0.5]], [[0.5, 0.5]] * 2, None, 2, "unknown class 0.5"),
            ([[0], [-2]], [[0.5, 0.5]] * 2, None, 2, "unknown class -2"),
            ([[0], [np.inf]], [[0.5, 0.5]] * 2, None, 2, "unknown class inf"),
            ([[0], [-1]], [[0.5, 0.5]] * 2, None, 2, "no expert voted"),
            ([[0], [1]], [[0.5, 0.5], [0.5, 0.6]], None, 2, "sum to 1.1"),
            ([[0], [1]], [[0.5, 0.5], [np.inf, -np.inf]], None, 2, "p_0 is inf"),
            ([[0], [1]], [[0.5, 0.5], [np.nan, 0.5]], None, 2, "p_0 is nan"),
            ([[0], [1]], [[0.5, 0.5]] * 2, ["a", "a"], 2, "already that of row 1"),
            ([[0], [1]], [[0.5, 0.5]] * 2, ["a", 7], None, "key 7 is not a text"),
            ([[0], [1]], [[0.5, 0.5]] * 2, ["a"], None, "2 rows of votes but 1 keys"),
            ([[0], [1]], [[0.5, 0.5]], None, None, "2 rows of votes but 1 of probabilities"),
            ([0, 1], [[0.5, 0.5]] * 2, None, None, "votes have shape (2,); expected (cases, experts)"),
            ([["a"]], [[0.5, 0.5]], None, None, "votes must be numbers"),
            (np.empty((0, 1)), np.empty((0, 2)), None, None, "holds no cases"),
        ],
    )
    def test_bad_arrays(
        self, votes: object, probabilities: object, keys: list[str] | None, row: int | None, message: str
    ) -> None:
        with pytest.raises(TableError) as caught:
            table_from_arrays(votes, probabilities, keys=keys)  # type: ignore[arg-type]  # wrong on purpose
        assert caught.value.problems[0].row == row
        assert message in caught.value.problems[0].message

    def test_a_panel_of_another_size(self) -> None:
        panel = Panel(["a", "b"], ["ann", "ben"])
        with pytest.raises(
            TableError, match="have 1 experts, 1 classifiers and 3 classes, the panel 2 experts, 1 class"
        ):
            table_from_arrays([[0]], [[0.2, 0.3, 0.5]], panel=panel)

    def test_one_class_only(self) -> None:
        with pytest.raises(InputError, match="at least 2 classes"):
            table_from_arrays([[0]], [[1.0]])


class TestValue:
    def test_equal_by_content_not_by_source(self) -> None:
        first = table_from_arrays([[0, 1]], [[0.5, 0.5]], source="one")
        second = table_from_arrays([[0, 1]], [[0.5, 0.5]], source="two")
        assert first == second
        assert hash(first) == hash(second)
        assert first != "one"

    @pytest.mark.parametrize(
        "other",
        [
            table_from_arrays([[0, 0]], [[0.5, 0.5]]),
            table_from_arrays([[0, 1]], [[0.25, 0.75]]),
            table_from_arrays([[0, 1]], [[np.nan, np.nan]]),
            table_from_arrays([[0, 1]], [[0.5, 0.5]], keys=["x"]),
            table_from_arrays([[0, 1]], [[0.5, 0.5]], panel=Panel(["a", "b"], ["expert_1", "expert_2"])),
        ],
    )
    def test_the_digest_covers_everything(self, other: Table) -> None:
        assert other.digest != table_from_arrays([[0, 1]], [[0.5, 0.5]]).digest

    def test_the_digest_stays_what_it_is(self) -> None:
        table = table_from_arrays([[0, 1]], [[0.5, 0.5]])
        assert table.digest == "f3e7f51995db38e2a07a7c46c3ba41770131b79a91cce8991fbfdcf1c79f5111"

    def test_select(self) -> None:
        table = table_from_arrays([[0], [1], [1]], [[0.5, 0.5], [0.1, 0.9], [0.2, 0.8]], keys=["a", "b", "c"])
        chosen = table.select([2, 0])
        assert chosen.keys == ("c", "a")
        assert chosen.votes.tolist() == [[1], [0]]
        assert chosen.probabilities.tolist() == [[[0.2, 0.8]], [[0.5, 0.5]]]
        assert table.select(range(3)) == table
        assert len(table.select([])) == 0

    @pytest.mark.parametrize(("rows", "message"), [([3], "no row 3"), ([-1], "no row -1"), ([1, 1], "chosen twice")])
    def test_select_refuses(self, rows: list[int], message: str) -> None:
        table = table_from_arrays([[0], [1], [1]], [[0.5, 0.5]] * 3)
        with pytest.raises(InputError, match=message):
            table.select(rows)


@pytest.mark.panels
@pytest.mark.parametrize(
    ("name", "cases", "experts", "classes"),
    [
        ("chestxray", 810, 5, 2),
        ("chaoyang", 750, 3, 4),
        ("cifar10h", 3000, 3, 3),
        ("imagenet16h", 1181, 3, 3),
        ("imagenet16h_shift", 1000, 3, 3),
        ("mammo15", 460, 15, 2),
        ("sleep5", 2476, 5, 5),
    ],
)
def test_the_shared_panels_can_be_read(panels: Path, name: str, cases: int, experts: int, classes: int) -> None:
    table = read_table(panels / f"{name}.csv")
    assert (len(table), table.votes.shape[1], table.probabilities.shape[1:]) == (cases, experts, (1, classes))
