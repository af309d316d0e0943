"""Files of rows in and out: CSV, TSV, JSON Lines and Parquet, by the ending of the file's name."""

from __future__ import annotations

import csv
import io
import json
import os
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from stat import S_ISDIR
from typing import IO, Literal

from quorate.errors import InputError, MissingExtraError, Problem, TableError

ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
"""Endings of the files that can be read and written."""

_EXPECTED = f"expected a file that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"


@dataclass(frozen=True)
class Sheet:
    """A file's columns of cells, not yet understood; `problems` holds the rows that do not fit the columns.

    A cell is a text, a number, a truth value or whatever else the format holds; None or "" = empty.
    """

    columns: tuple[str, ...]
    cells: Mapping[str, Sequence[object]]
    rows: int
    problems: tuple[Problem, ...] = field(default=())


def read_sheet(path: str | Path) -> Sheet:
    """The rows of a file as they stand, or a TableError that says why it cannot be read."""
    source = str(path)
    ending, content = _content(path)
    if ending == ".parquet":
        return _read_parquet(source, content)
    text = _text(source, content)
    if ending in (".jsonl", ".ndjson"):
        return _read_json_lines(source, text)
    return _read_delimited(source, text, "\t" if ending == ".tsv" else ",")


def _content(path: str | Path) -> tuple[str, bytes]:
    """A file's ending and bytes; the ending is looked at first, so that a device is never read."""
    file = Path(path)
    if "\0" in str(path):
        reason = "no such file"
    else:
        try:
            if S_ISDIR(file.stat().st_mode):
                reason = "is a directory; expected a file"
            elif (ending := _ending(path)) is None:
                reason = f"its name does not say what it holds; {_EXPECTED}"
            else:
                return ending, file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            reason = "no such file"
        except OSError as error:
            reason = f"cannot be read: {error.strerror or error}"
    raise TableError(str(path), [Problem(None, reason)])


def write_sheet(path: str | Path, sheet: Sheet) -> None:
    """Write columns of cells to a file, whole or not at all; a file that is there is replaced."""
    ending = _ending(path)
    if ending is None:
        raise InputError(f"cannot write {str(path)!r}: {_EXPECTED}")
    with replacing(path) as file:
        try:
            if ending == ".parquet":
                _write_parquet(file, sheet)
            else:
                file.write(_as_text(ending, sheet).encode())
        except UnicodeEncodeError as error:
            piece = error.object[error.start : error.end]
            raise InputError(f"cannot write {str(path)!r}: {piece!r} is not a character of UTF-8") from None


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the name `path` only once everything is written."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".quorate-{secrets.token_hex(8)}.tmp")
    try:
        if target.is_dir():
            raise InputError(f"cannot write {str(path)!r}: it is a directory; expected the name of a file")
        if not target.parent.is_dir():
            folder = str(Path(path).parent)
            raise InputError(f"cannot write {str(path)!r}: there is no folder {folder!r}; create it first")
        with draft.open("xb") as file:
            yield file
        draft.replace(target)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _ending(path: str | Path) -> str | None:
    ending = Path(path).suffix.lower()
    return ending if ending in ENDINGS else None


def _text(source: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte, place = content[error.start], error.start + 1
        message = f"is not UTF-8 text (byte {place} is 0x{byte:02x}); save it as UTF-8"
        raise TableError(source, [Problem(None, message)]) from None
    if "\0" in text:
        raise TableError(source, [Problem(None, "is a binary file; expected UTF-8 text")])
    if not text.strip():
        raise TableError(source, [Problem(None, "is empty; expected a header and at least one row")])
    return text


def _read_delimited(source: str, text: str, delimiter: str) -> Sheet:
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    problems: list[Problem] = []
    header: list[str] | None = None
    try:
        for line in lines:
            if not line:  # a blank line
                continue
            if header is None:
                header = [name.strip() for name in line]
                continue
            if len(line) != len(header):
                problems.append(
                    Problem(len(rows) + 1, f"has {len(line)} fields, expected {len(header)} as in the header")
                )
                line = [""] * len(header)
            rows.append(line)
    except csv.Error as error:
        row = None if header is None else len(rows) + 1
        problems.append(Problem(row, f"cannot be read ({error}); check its quotes; nothing after it was read"))
    if header is None:
        raise TableError(source, problems or [Problem(None, "is empty; expected a header and at least one row")])
    _refuse_twins(source, header)
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    return Sheet(tuple(header), dict(zip(header, columns, strict=True)), len(rows), tuple(problems))


class _TwinKeysError(ValueError):
    pass


def _record(pairs: list[tuple[str, object]]) -> dict[str, object]:
    record = dict(pairs)
    if len(record) < len(pairs):
        names = [name for name, _ in pairs]
        raise _TwinKeysError(f"names {next(n for n in names if names.count(n) > 1)!r} twice")
    return record


def _read_json_lines(source: str, text: str) -> Sheet:
    records: list[dict[str, object]] = []
    problems: list[Problem] = []
    for line in text.split("\n"):  # not splitlines: a text inside a record may hold other line ends
        if not line.strip():
            continue
        record: dict[str, object] = {}
        try:
            given = json.loads(line, object_pairs_hook=_record)
            if isinstance(given, dict):
                record = given
            else:
                problems.append(
                    Problem(len(records) + 1, 'is not a JSON object such as {"expert_1": 0, "p_0": 0.9, ...}')
                )
        except _TwinKeysError as error:
            problems.append(Problem(len(records) + 1, str(error)))
        except json.JSONDecodeError as error:
            problems.append(Problem(len(records) + 1, f"is not JSON: {error.msg} at character {error.colno}"))
        except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
            problems.append(Problem(len(records) + 1, "is not JSON that can be read"))
        records.append(record)
    columns = tuple(dict.fromkeys(name for record in records for name in record))
    cells = {name: [record.get(name) for record in records] for name in columns}
    if not columns:
        raise TableError(source, problems or [Problem(None, "holds no columns")])
    return Sheet(columns, cells, len(records), tuple(problems))


def _read_parquet(source: str, content: bytes) -> Sheet:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading Parquet", "parquet") from None
    if not content:
        raise TableError(source, [Problem(None, "is empty; expected a Parquet file")])
    try:
        table = pyarrow.parquet.ParquetFile(io.BytesIO(content)).read()
        names: list[str] = list(table.schema.names)
        cells = {name: column.to_pylist() for name, column in zip(names, table.columns, strict=True)}
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        reason = (str(error).splitlines() or ["damaged"])[0]
        raise TableError(source, [Problem(None, f"cannot be read as Parquet: {reason}")]) from None
    _refuse_twins(source, names)
    return Sheet(tuple(names), cells, table.num_rows)


def _refuse_twins(source: str, names: Sequence[str]) -> None:
    twins = sorted(name for name, number in Counter(names).items() if name and number > 1)
    if twins:
        listed = ", ".join(repr(name) for name in twins)
        raise TableError(source, [Problem(None, f"has more than one column named {listed}; each name must be its own")])


def _as_text(ending: str, sheet: Sheet) -> str:
    rows: Iterable[tuple[object, ...]] = zip(*(sheet.cells[name] for name in sheet.columns), strict=True)
    if ending in (".jsonl", ".ndjson"):
        records = (dict(zip(sheet.columns, row, strict=True)) for row in rows)
        return "".join(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n" for record in records)
    lines = [sheet.columns, *rows]
    text = _delimited(lines, ending, csv.QUOTE_MINIMAL)
    if "\r" in text:  # which minimal quoting leaves bare, though readers take it for the end of a line
        text = _delimited(lines, ending, csv.QUOTE_ALL)
    if "\0" in text:
        raise InputError(f"a {ending} file cannot hold the NUL character; choose .jsonl or .parquet")
    return text


def _delimited(lines: Iterable[Sequence[object]], ending: str, quoting: Literal[0, 1]) -> str:
    file = io.StringIO(newline="")
    delimiter = "\t" if ending == ".tsv" else ","
    csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=quoting).writerows(lines)
    return file.getvalue()


def _write_parquet(file: IO[bytes], sheet: Sheet) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("writing Parquet", "parquet") from None
    pyarrow.parquet.write_table(pyarrow.table({name: sheet.cells[name] for name in sheet.columns}), file)
