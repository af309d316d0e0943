from __future__ import annotations

from pathlib import Path

import pytest

from quorate.assembly import Options, create_study
from quorate.core.panel import Panel
from quorate.errors import TableError
from quorate.service.importing import past_cases
from quorate.study.study import Study

HEAD = "item,ann,ben,p_0,p_1\n"


@pytest.fixture
def study() -> Study:
    made = create_study(Panel(["normal", "abnormal"], ["ann", "ben"], ["net"]), options=Options("until-determined"))
    made.open("known", {"net": [0.5, 0.5]})
    return made


def problems(study: Study, path: Path, rows: str) -> list[tuple[int | None, str]]:
    path.write_text(HEAD + rows, encoding="utf-8")
    with pytest.raises(TableError) as error:
        past_cases(study, path)
    return [(problem.row, problem.message) for problem in error.value.problems]


def test_keys_are_reported_with_all_else(study: Study, tmp_path: Path) -> None:
    rows = "a/b,normal,,.3,.7\nfine,purple,,.3,.7\nknown,normal,,.3,.3\n,normal,,.3,.7\nfine,normal,,.3,.7\n"
    found = problems(study, tmp_path / "past.csv", rows)
    assert [row for row, _ in found] == [1, 2, 3, 3, 4, 5]
    told = [message for _, message in found]
    assert told[0] == "key 'a/b' is no part of an address; expected up to 200 characters without '/'"
    assert "purple" in told[1]
    assert {"case 'known' is in the study already"} < {*told[2:4]}
    assert "its key is empty" in told[4]
    assert "already that of row 2" in told[5]


def test_keys_alone_are_reported(study: Study, tmp_path: Path) -> None:
    found = problems(study, tmp_path / "past.csv", "..,normal,,.3,.7\nfine,normal,,.3,.7\nknown,normal,,.3,.7\n")
    assert [row for row, _ in found] == [1, 3]


def test_a_row_that_was_not_understood_is_reported_once(study: Study, tmp_path: Path) -> None:
    found = problems(study, tmp_path / "past.csv", "a/b,normal,,.3,.7,more\nc/d,normal,,.3,.7\n")
    assert [row for row, _ in found] == [1, 2]


def test_what_is_wrong_with_columns_is_reported(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "past.csv"
    path.write_text("item,zed,p_0,p_1\na/b,normal,.3,.7\n", encoding="utf-8")
    with pytest.raises(TableError, match="no column of an expert; expected some of ann, ben"):
        past_cases(study, path)


def test_clean_rows_come_in_by_their_keys_and_numbers(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "past.csv"
    path.write_text(HEAD + "a,normal,abnormal,.3,.7\n", encoding="utf-8")
    assert [(case.key, case.votes) for case in past_cases(study, path)] == [("a", {"ann": "normal", "ben": "abnormal"})]
    path.write_text("ann,p_0,p_1\nnormal,.3,.7\n", encoding="utf-8")
    assert [case.key for case in past_cases(study, path)] == ["1"]
