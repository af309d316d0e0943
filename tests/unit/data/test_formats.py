from __future__ import annotations

import errno
import stat
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quorate.core.panel import Panel
from quorate.data.formats import ENDINGS, Sheet, read_sheet, replacing, write_sheet
from quorate.data.synthetic import simulate
from quorate.data.table import Table, read_table, table_from_arrays, write_table
from quorate.errors import InputError, MissingExtraError, TableError


@pytest.fixture
def table() -> Table:
    return simulate(np.random.default_rng(0), cases=20, missing=0.3, classifiers=2)


def why(path: Path) -> str:
    with pytest.raises(TableError) as caught:
        read_table(path)
    assert caught.value.source == str(path)
    assert [problem.row for problem in caught.value.problems] == [None]
    return caught.value.problems[0].message


class TestFilesThatCannotBeRead:
    def test_missing(self, tmp_path: Path) -> None:
        assert why(tmp_path / "none.csv") == "no such file"
        assert why(tmp_path / "none" / "none.csv") == "no such file"
        assert why(tmp_path / "nu\0l.csv") == "no such file"
        assert "File name too long" in why(tmp_path / f"{'x' * 300}.csv")

    def test_a_folder(self, tmp_path: Path) -> None:
        assert why(tmp_path) == "is a directory; expected a file"

    def test_not_allowed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(self: Path) -> bytes:
            raise PermissionError(errno.EACCES, "Permission denied", str(self))

        (tmp_path / "votes.csv").touch()
        monkeypatch.setattr(Path, "read_bytes", refuse)
        assert why(tmp_path / "votes.csv") == "cannot be read: Permission denied"

    @pytest.mark.parametrize("name", ["votes", "votes.xlsx", "votes.csv.gz"])
    def test_an_ending_nobody_knows(self, tmp_path: Path, name: str) -> None:
        (tmp_path / name).write_text("item\n")
        assert why(tmp_path / name).endswith("expected a file that ends in .csv, .tsv, .jsonl, .ndjson or .parquet")

    def test_a_device_is_not_read(self) -> None:
        assert "does not say what it holds" in why(Path("/dev/zero"))

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_empty(self, tmp_path: Path, ending: str) -> None:
        path = tmp_path / f"votes{ending}"
        path.write_bytes(b"")
        assert why(path).startswith("is empty; expected")

    @pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
    @pytest.mark.parametrize("content", [b" \n\r\n ", b"\xef\xbb\xbf"])
    def test_only_blanks(self, tmp_path: Path, ending: str, content: bytes) -> None:
        path = tmp_path / f"votes{ending}"
        path.write_bytes(content)
        assert why(path).startswith("is empty; expected")

    @pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl"])
    def test_not_text(self, tmp_path: Path, ending: str) -> None:
        path = tmp_path / f"votes{ending}"
        path.write_bytes(b"item,\xff\xfe\n")
        assert why(path) == "is not UTF-8 text (byte 6 is 0xff); save it as UTF-8"
        path.write_bytes(b"PAR1\0\0\0\1")
        assert why(path) == "is a binary file; expected UTF-8 text"

    def test_not_parquet(self, tmp_path: Path) -> None:
        path = tmp_path / "votes.parquet"
        path.write_text("item,expert_1,p_0,p_1\n")
        assert why(path).startswith("cannot be read as Parquet: ")

    def test_parquet_twins(self, tmp_path: Path) -> None:
        path = tmp_path / "votes.parquet"
        pq.write_table(pa.Table.from_arrays([pa.array([0]), pa.array([1])], names=["expert_1", "expert_1"]), path)
        assert why(path) == "has more than one column named 'expert_1'; each name must be its own"

    def test_parquet_needs_its_extra(self, tmp_path: Path, table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "votes.parquet"
        write_table(table, path)
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtraError, match=r"reading Parquet needs the extra 'parquet': pip install"):
            read_table(path)
        with pytest.raises(MissingExtraError, match="writing Parquet needs the extra 'parquet'"):
            write_table(table, path)
        assert [entry.name for entry in tmp_path.iterdir()] == ["votes.parquet"]


class TestParquet:
    def test_types_that_others_write(self, tmp_path: Path) -> None:
        path = tmp_path / "votes.parquet"
        columns = {
            "case": pa.array([19.0, 20.0]),
            "expert_1": pa.array([1.0, float("nan")]),  # whole numbers with gaps, as some libraries hold them
            "expert_2": pa.array(["no", "yes"]).dictionary_encode(),
            "expert_3": pa.array([None, 0], type=pa.int8()),
            "p_0": pa.array([0.25, 0.5], type=pa.float32()),
            "p_1": pa.array([0.75, 0.5], type=pa.float32()),
            "embedding": pa.array([[1.0], [2.0]]),
        }
        pq.write_table(pa.table(columns), path)
        table = read_table(path, classes=["no", "yes"])
        assert table.keys == ("19", "20")
        assert table.votes.tolist() == [[1, 0, -1], [-1, 1, 0]]
        assert table.probabilities.tolist() == [[[0.25, 0.75]], [[0.5, 0.5]]]

    def test_decimals(self, tmp_path: Path) -> None:
        path = tmp_path / "votes.parquet"
        half = pa.array([0.5]).cast(pa.decimal128(5, 3))
        pq.write_table(pa.table({"expert_1": [0], "p_0": half, "p_1": half}), path)
        assert read_table(path).probabilities.tolist() == [[[0.5, 0.5]]]


class TestWriting:
    @pytest.mark.parametrize("ending", ENDINGS)
    def test_what_was_written_is_read_back(self, tmp_path: Path, table: Table, ending: str) -> None:
        write_table(table, tmp_path / f"votes{ending}")
        assert read_table(tmp_path / f"votes{ending}") == table

    @pytest.mark.parametrize("ending", ENDINGS)
    def test_names_and_missing_parts_are_read_back(self, tmp_path: Path, ending: str) -> None:
        panel = Panel(["no, never", 'he said "yes"'], ["ann", "b\tn", "silent"], ["vit", "classifier"])
        rows = [[[0.1, 0.9], [np.nan, np.nan]], [[1 / 3, 2 / 3], [0.0, 1.0]]]
        table = table_from_arrays([[0, 1, -1], [-1, 1, -1]], rows, panel=panel, keys=["a\nb", "ü, 'x'"])
        path = tmp_path / f"votes{ending.upper()}"
        write_table(table, path)
        again = read_table(path, classes=panel.classes, experts=panel.experts, classifiers=panel.classifiers)
        assert again == table
        assert again.source == str(path)

    def test_what_a_file_looks_like(self, tmp_path: Path) -> None:
        table = table_from_arrays([[0, -1], [1, 1]], [[0.1, 0.9], [np.nan, np.nan]], keys=["a", "b"])
        write_table(table, tmp_path / "t.csv")
        assert (tmp_path / "t.csv").read_text() == "item,expert_1,expert_2,p_0,p_1\na,0,,0.1,0.9\nb,1,1,,\n"
        write_table(table, tmp_path / "t.jsonl")
        first = '{"item": "a", "expert_1": 0, "expert_2": null, "p_0": 0.1, "p_1": 0.9}\n'
        assert (tmp_path / "t.jsonl").read_text().startswith(first)

    def test_a_file_that_is_there_is_replaced_and_keeps_its_link(self, tmp_path: Path, table: Table) -> None:
        (tmp_path / "real.csv").write_text("old")
        (tmp_path / "link.csv").symlink_to("real.csv")
        write_table(table, tmp_path / "link.csv")
        assert (tmp_path / "link.csv").is_symlink()
        assert read_table(tmp_path / "real.csv") == table

    def test_the_umask_is_kept(self, tmp_path: Path, table: Table) -> None:
        (tmp_path / "plain").touch()
        write_table(table, tmp_path / "t.csv")
        assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)

    def test_what_cannot_be_written(self, tmp_path: Path, table: Table) -> None:
        with pytest.raises(InputError, match=r"ends in \.csv, \.tsv, \.jsonl, \.ndjson or \.parquet"):
            write_table(table, tmp_path / "t.xlsx")
        with pytest.raises(InputError, match=r"there is no folder .*nowhere'; create it first"):
            write_table(table, tmp_path / "nowhere" / "t.csv")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(InputError, match="it is a directory"):
            write_table(table, tmp_path / "folder.csv")
        with pytest.raises(InputError, match="File name too long"):
            write_table(table, tmp_path / f"{'x' * 300}.csv")
        assert [entry.name for entry in tmp_path.iterdir()] == ["folder.csv"]

    @pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
    @pytest.mark.parametrize(
        ("panel", "message"),
        [
            (Panel(["0", "1"], ["item"]), "two columns would be named 'item'"),
            (Panel(["0", "1"], ["p_0"]), "two columns would be named 'p_0'"),
            (Panel(["0", "1"], [" ann"]), "begins or ends with a space"),
            (Panel(["no ", "yes"], ["ann"]), "begins or ends with a space"),
            (Panel(["0", "1"], ["\ud800"]), "is not a character of UTF-8"),
        ],
    )
    def test_names_that_a_table_cannot_hold(self, tmp_path: Path, panel: Panel, message: str, ending: str) -> None:
        table = table_from_arrays([[0]], [[0.5, 0.5]], panel=panel)
        with pytest.raises(InputError, match=message):
            write_table(table, tmp_path / f"t{ending}")
        assert list(tmp_path.iterdir()) == []

    def test_nul_only_where_it_can_be_read_back(self, tmp_path: Path) -> None:
        table = table_from_arrays([[0]], [[0.5, 0.5]], keys=["a\0b"])
        with pytest.raises(InputError, match=r"cannot hold the NUL character; choose \.jsonl or \.parquet"):
            write_table(table, tmp_path / "t.csv")
        for name in ("t.jsonl", "t.parquet"):
            write_table(table, tmp_path / name)
            assert read_table(tmp_path / name) == table

    def test_an_error_half_way_leaves_the_old_file(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text("old")

        def write_half() -> None:
            with replacing(path) as file:
                file.write(b"new")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            write_half()
        assert path.read_text() == "old"
        assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]


def test_a_sheet_is_what_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.tsv"
    write_sheet(path, Sheet(("a", "b"), {"a": ["x", "y"], "b": [None, 1.5]}, 2))
    assert path.read_text() == "a\tb\nx\t\ny\t1.5\n"
    sheet = read_sheet(path)
    assert (sheet.columns, sheet.rows, dict(sheet.cells)) == (("a", "b"), 2, {"a": ("x", "y"), "b": ("", "1.5")})
