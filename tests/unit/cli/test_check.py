from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Program

HEADER = "item,expert_1,expert_2,expert_3,p_0,p_1"
GOOD = [HEADER, "a,0,0,1,0.75,0.25", "b,1,0,,0.5,0.5", "c,1,1,1,,"]


@pytest.fixture
def votes(tmp_path: Path) -> None:
    write(tmp_path / "votes.csv", *GOOD)


def write(path: Path, *lines: str) -> None:
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("votes")
def test_a_good_table_is_summed_up(quorate: Program) -> None:
    done = quorate("check", "votes.csv")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "votes.csv: 3 cases, 3 experts, 2 classes, 1 classifier",
        "votes: 8, missing: 1 (11.1%), tied cases: 1",
        "",
        "votes by expert:",
        "  expert_1  3",
        "  expert_2  3",
        "  expert_3  2",
        "",
        "share of votes by class:",
        "  0  37.5%",
        "  1  62.5%",
        "",
        "cases by classifier:",
        "  classifier  2",
    ]


@pytest.mark.usefixtures("votes")
def test_json_of_a_good_table(quorate: Program) -> None:
    options = ("--classes", "no,yes", "--experts", "expert_3,expert_1", "--classifiers", "vit")
    done = quorate("check", "votes.csv", "--json", *options)
    assert done.returncode == 0
    shown = json.loads(done.stdout)
    assert len(shown.pop("digest")) == 64
    assert shown == {
        "ok": True,
        "table": "votes.csv",
        "cases": 3,
        "votes": 5,
        "missing_votes": 1,
        "missing_share": pytest.approx(1 / 6),
        "ties": 1,
        "experts": {"expert_3": 2, "expert_1": 3},
        "classes": {"no": pytest.approx(0.2), "yes": pytest.approx(0.8)},
        "classifiers": {"vit": 2},
    }


def test_every_bad_row_is_listed(quorate: Program, tmp_path: Path) -> None:
    bad = ["d,0,0,1,0.75,0.5", "a,0,0,5,0.5,0.5", "e,,,,0.5,0.5", "f,0,0,0,-1,2", "g,0"]
    write(tmp_path / "votes.csv", *GOOD, *bad)
    done = quorate("check", "votes.csv")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "votes.csv: row 4: p_0 to p_1 sum to 1.25; expected 1 within 0.0001",
        "votes.csv: row 5: its key 'a' is already that of row 1",
        "votes.csv: row 5: expert_3: unknown class '5'; expected one of 0, 1",
        "votes.csv: row 6: no expert voted; expected at least one vote",
        "votes.csv: row 7: p_0 is -1; expected a number from 0 to 1",
        "votes.csv: row 7: p_1 is 2; expected a number from 0 to 1",
        "votes.csv: row 8: has 2 fields, expected 6 as in the header",
    ]
    message = "quorate: error: votes.csv: row 4: p_0 to p_1 sum to 1.25; expected 1 within 0.0001 (and 6 more)\n"
    assert done.stderr == message


def test_json_of_a_bad_table(quorate: Program, tmp_path: Path) -> None:
    write(tmp_path / "votes.csv", *GOOD, "d,0,0,1,0.75,0.5")
    done = quorate("check", "--json", "votes.csv")
    assert done.returncode == 1
    problem = {"row": 4, "message": "p_0 to p_1 sum to 1.25; expected 1 within 0.0001"}
    assert json.loads(done.stdout) == {"ok": False, "table": "votes.csv", "problems": [problem]}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.csv", None, "none.csv: no such file"),
        ("empty.csv", b"", "empty.csv: is empty; expected a header and at least one row"),
        ("header.csv", HEADER.encode(), "has a header but no rows"),
        ("binary.csv", bytes(range(256)), "binary.csv: is not UTF-8 text (byte 129 is 0x80)"),
        ("nul.csv", b"PAR1\0", "is a binary file"),
        ("one.csv", b"expert_1,p_0\n0,1\n", "only one class"),
        ("names.csv", b"expert_1,p_0,p_1\nno,.5,.5\n", "name the classes in index order (--classes NAME0,NAME1)"),
        ("votes.txt", b"expert_1,p_0,p_1\n0,.5,.5\n", "expected a file that ends in .csv"),
        ("junk.parquet", b"junk", "cannot be read as Parquet"),
        ("silent.csv", b"expert_1,p_0,p_1\n,.5,.5\n,.5,.5\n", "no expert voted on any case"),
    ],
)
def test_files_that_are_no_table(
    quorate: Program, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = quorate("check", name)
    assert done.returncode == 1
    assert done.stderr.startswith("quorate: error: ")
    assert message in done.stderr
    assert done.stdout == ""


@pytest.mark.usefixtures("votes")
@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (
            ("--experts", "zed"),
            1,
            "no column for expert zed; the columns are item, expert_1, expert_2, expert_3, p_0, p_1",
        ),
        (("--classifiers", "vit,resnet"), 1, "no columns vit.p_0, ... for classifier 'vit'"),
        (("--classes", "a,b,c"), 1, "3 classes are named (a, b, c), but the probabilities have 2 columns"),
        (("--classes", "a,,b"), 2, "Invalid value for --classes: 'a,,b' holds an empty name"),
    ],
)
def test_names_that_do_not_fit(quorate: Program, options: tuple[str, ...], code: int, message: str) -> None:
    done = quorate("check", "votes.csv", *options)
    assert done.returncode == code
    assert message in done.stderr


def test_a_folder(quorate: Program) -> None:
    done = quorate("check", ".")
    assert (done.returncode, done.stderr) == (1, "quorate: error: .: is a directory; expected a file\n")


@pytest.mark.panels
def test_the_shared_mammograms(quorate: Program, panels: Path) -> None:
    done = quorate("check", panels.resolve() / "mammo15.csv", "--classes", "no recall,recall", "--json")
    shown = json.loads(done.stdout)
    assert (shown["cases"], len(shown["experts"]), shown["ties"]) == (460, 15, 28)
