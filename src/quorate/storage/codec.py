"""Events and what a study is made of, as plain JSON values and back, by the fields that their classes declare."""

from __future__ import annotations

import json
import math
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from quorate.errors import InputError
from quorate.study.events import Event

KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in get_args(Event)}
"""Classes of events by the name that is stored."""

Value = TypeVar("Value")
_TEXT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
_UNUSUAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # numbers that JSON has no word for


def canonical(value: object) -> str:
    """The one text of a JSON value: sorted keys, no spaces, ASCII.

    >>> canonical({"b": [1, 2.5, None], "a": "é"})
    '{"a":"\\\\u00e9","b":[1,2.5,null]}'
    """
    return _TEXT(value)


def plain(text: str, what: str) -> Any:
    """The JSON value of a text."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"{what} is not JSON ({error}); the database was changed by something else") from None


def event_to_text(event: Event) -> tuple[str, str]:
    """Kind and body of an event, as they are stored.

    >>> from quorate.study.events import Voted
    >>> event_to_text(Voted("case-1", expert=0, vote=1))
    ('Voted', '{"expert":0,"key":"case-1","vote":1}')
    """
    kind = type(event).__name__
    return kind, canonical(_form(type(event)).write(event, kind))


def event_from_text(kind: str, body: str) -> Event:
    """The event that was stored as a kind and a body."""
    if kind not in KINDS:
        raise InputError(
            f"unknown kind of event {kind!r}; this version of quorate knows {', '.join(KINDS)}. "
            "Open the database with the version that wrote it"
        )
    found: Event = _form(KINDS[kind]).read(plain(body, f"the body of an event {kind}"), kind)
    return found


def to_plain(value: object) -> Any:
    """A dataclass, such as a panel or options, as a JSON value.

    >>> from quorate.core.panel import Panel
    >>> to_plain(Panel(["no", "yes"], ["ann"]))["experts"]
    ['ann']
    """
    return _form(type(value)).write(value, type(value).__name__)


def from_plain(kind: type[Value], value: object) -> Value:
    """The dataclass whose JSON value this is; fields that are not there have their defaults.

    >>> from quorate.core.rules import Rules
    >>> from_plain(Rules, {"min_votes": 1}).min_votes
    1
    """
    found: Value = _form(kind).read(value, kind.__name__)
    return found


@dataclass(frozen=True)
class Form:
    """How values of one type are written and read; both are told what the value is called, for messages."""

    write: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]


def _form(kind: Any) -> Form:
    """The form of a type."""
    found = _FORMS.get(kind)
    if found is None:
        found = _FORMS[kind] = _made(kind)
    return found


def _made(kind: Any) -> Form:
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _choice(inner)
    if origin is tuple and inner[-1] is not Ellipsis:
        return _fixed([_form(one) for one in inner])
    if origin in (tuple, Sequence):
        return _row(_form(inner[0]))
    if origin is Mapping and inner[0] is str:
        return _table(_form(inner[1]))
    raise TypeError(f"values of type {kind} have no form in a database")


def _bad(value: object, what: str, expected: str) -> InputError:
    return InputError(f"{what}: expected {expected}, got {value!r}")


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise _bad(value, what, "a text")
    return value


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise _bad(value, what, "true or false")
    return value


def _whole(value: Any, what: str) -> int:
    if type(value) is int:
        return value
    try:
        if isinstance(value, bool):
            raise TypeError  # noqa: TRY301  # true is not a number, though Python can count with it
        return operator.index(value)
    except TypeError:
        raise _bad(value, what, "a whole number") from None


def _write_number(value: Any, what: str) -> float | str:
    if isinstance(value, bool | str):
        raise _bad(value, what, "a number")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _bad(value, what, "a number") from None
    return number if math.isfinite(number) else str(number)


def _read_number(value: Any, what: str) -> float:
    if type(value) is float:
        return value
    if type(value) is int:
        return float(value)
    if isinstance(value, str) and value in _UNUSUAL:
        return _UNUSUAL[value]
    raise _bad(value, what, "a number")


def _nothing(value: Any, what: str) -> None:
    if value is not None:
        raise _bad(value, what, "nothing")


_FORMS: dict[Any, Form] = {
    str: Form(_text, _text),
    bool: Form(_flag, _flag),
    int: Form(_whole, _whole),
    float: Form(_write_number, _read_number),
    type(None): Form(_nothing, _nothing),
}


def _record(kind: type[Any]) -> Form:
    """A dataclass: an object with all of its fields, so that a default that changes changes nothing stored.

    Only a field that is marked is left out where it is None.
    """
    hints = get_type_hints(kind)
    forms = [(one.name, _form(hints[one.name])) for one in fields(kind)]
    known = {name: form.read for name, form in forms}
    needed = [one.name for one in fields(kind) if _needed(one)]
    spared = {one.name for one in fields(kind) if one.metadata.get("if_any")}

    def write(value: Any, what: str) -> dict[str, Any]:
        if type(value) is not kind:
            raise _bad(value, what, f"a {kind.__name__}")
        given = [(name, form, getattr(value, name)) for name, form in forms]
        return {name: form.write(one, name) for name, form, one in given if one is not None or name not in spared}

    def read(value: Any, what: str) -> Any:
        if not isinstance(value, dict):
            raise _bad(value, what, f"an object with the fields of {kind.__name__}")
        given = {}
        for name, one in value.items():
            if name not in known:
                raise InputError(
                    f"{what}: unknown field {name!r}; this version of quorate knows {', '.join(known)}. "
                    "Open the database with the version that wrote it"
                )
            given[name] = known[name](one, name)
        for name in needed:
            if name not in given:
                raise InputError(f"{what}: the field {name} is missing")
        return kind(**given)

    return Form(write, read)


def _needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _choice(kinds: tuple[Any, ...]) -> Form:
    """One of several types: nothing, or the first that the value has the fields or the shape of."""
    others = [kind for kind in kinds if kind is not type(None)]
    if len(others) == 1:
        return _perhaps(_form(others[0])) if len(kinds) > 1 else _form(others[0])
    records: dict[Any, set[str]] = {kind: {one.name for one in fields(kind)} for kind in others if is_dataclass(kind)}
    if len(records) < len(others):
        raise TypeError(f"values of one of {others} have no form in a database: they cannot be told apart")

    def write(value: Any, what: str) -> Any:
        return _form(type(value)).write(value, what)

    def read(value: Any, what: str) -> Any:
        for kind, names in records.items():
            if isinstance(value, dict) and names >= set(value):
                return _form(kind).read(value, what)
        raise _bad(value, what, f"the fields of {' or '.join(kind.__name__ for kind in records)}")

    both = Form(write, read)
    return _perhaps(both) if len(others) < len(kinds) else both


def _perhaps(form: Form) -> Form:
    def write(value: Any, what: str) -> Any:
        return None if value is None else form.write(value, what)

    def read(value: Any, what: str) -> Any:
        return None if value is None else form.read(value, what)

    return Form(write, read)


def _listed(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise _bad(value, what, "a list")
    return value


def _fixed(forms: list[Form]) -> Form:
    def same(value: Any, what: str) -> Sequence[Any]:
        if len(_listed(value, what)) != len(forms):
            raise _bad(value, what, f"a list of {len(forms)}")
        return list(value)

    def write(value: Any, what: str) -> list[Any]:
        return [form.write(one, what) for form, one in zip(forms, same(value, what), strict=True)]

    def read(value: Any, what: str) -> tuple[Any, ...]:
        return tuple([form.read(one, what) for form, one in zip(forms, same(value, what), strict=True)])

    return Form(write, read)


def _row(form: Form) -> Form:
    def write(value: Any, what: str) -> list[Any]:
        return [form.write(one, what) for one in _listed(value, what)]

    def read(value: Any, what: str) -> tuple[Any, ...]:
        return tuple([form.read(one, what) for one in _listed(value, what)])

    return Form(write, read)


def _table(form: Form) -> Form:
    def entries(value: Any, what: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise _bad(value, what, "an object")
        return value

    def write(value: Any, what: str) -> dict[str, Any]:
        return {_text(name, what): form.write(one, what) for name, one in entries(value, what).items()}

    def read(value: Any, what: str) -> dict[str, Any]:
        return {name: form.read(one, what) for name, one in entries(value, what).items()}

    return Form(write, read)
