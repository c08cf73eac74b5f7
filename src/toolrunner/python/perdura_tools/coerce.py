"""Converts JSON arguments to the richer types that a tool's parameters declare.

This is the counterpart of what `inspection` writes into the schema: enums, dataclasses, models, dates, sets and the
like. Values for plain hints (str, int, float, bool, list, dict) are never changed, and neither are those for a hint
that cannot be resolved.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import pathlib
import types
import typing
import uuid
from typing import Any, Callable

UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
SEQUENCES = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, collections.abc.MutableSequence)
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def _bytes(value: str) -> bytes:
    import base64

    return base64.b64decode(value, validate=True)


def _moment(kind: Any) -> Callable[[str], Any]:
    # Before Python 3.11, `fromisoformat` did not accept the Z that JSON writers use.
    return lambda text: kind.fromisoformat(text[:-1] + "+00:00" if text.endswith(("Z", "z")) else text)


CONVERTERS: dict[Any, Callable[[Any], Any]] = {
    datetime.datetime: _moment(datetime.datetime),
    datetime.date: datetime.date.fromisoformat,
    datetime.time: _moment(datetime.time),
    datetime.timedelta: lambda seconds: datetime.timedelta(seconds=seconds),
    uuid.UUID: uuid.UUID,
    decimal.Decimal: lambda number: decimal.Decimal(str(number)),
    pathlib.Path: pathlib.Path,
    bytes: _bytes,
    set: set,
    frozenset: frozenset,
    tuple: tuple,
}


def coerce_arguments(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Converts the arguments; raises a ValueError that names an argument that does not fit."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 - evaluating a hint may raise anything; the value can still be passed unchanged
        return arguments
    return {name: _named(name, value, hints.get(name)) for name, value in arguments.items()}


def _named(name: str, value: Any, hint: Any) -> Any:
    try:
        return coerce(value, hint)
    except (ValueError, TypeError, KeyError, ArithmeticError) as reason:
        raise ValueError(f"argument {name}: {reason}") from None


def coerce(value: Any, hint: Any) -> Any:
    hint = getattr(hint, "__supertype__", hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in UNIONS:
        return _union(value, parts)
    if origin is not None:
        return _container(value, origin, parts)
    if isinstance(hint, type):
        return _instance(value, hint)
    return value


def _union(value: Any, choices: tuple[Any, ...]) -> Any:
    """Returns the value if its type is one of the choices, or else the result of the first conversion."""
    if value is None or any(isinstance(choice, type) and type(value) is choice for choice in choices):
        return value
    for choice in choices:
        try:
            found = coerce(value, choice)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            continue
        if found is not value:
            return found
    return value


def _container(value: Any, origin: Any, parts: tuple[Any, ...]) -> Any:
    if isinstance(value, list):
        if origin is tuple:
            hints = parts[:1] * len(value) if len(parts) == 2 and parts[1] is Ellipsis else parts
            return tuple(coerce(item, hint) for item, hint in zip(value, hints))
        if origin in (set, frozenset, *SEQUENCES):
            items = [coerce(item, parts[0]) for item in value]
            return origin(items) if origin in (set, frozenset) else items
    if isinstance(value, dict) and origin in MAPPINGS and len(parts) == 2:
        return {key: coerce(item, parts[1]) for key, item in value.items()}
    return value


def _instance(value: Any, hint: type) -> Any:
    if hint in CONVERTERS:
        return CONVERTERS[hint](value) if isinstance(value, (str, int, float, list)) else value
    if issubclass(hint, enum.Enum):
        return hint[value] if value in hint.__members__ and value not in [member.value for member in hint] else hint(value)
    if not isinstance(value, dict):
        return value
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if dataclasses.is_dataclass(hint) or (issubclass(hint, tuple) and hasattr(hint, "_fields")):
        hints = typing.get_type_hints(hint)
        return hint(**{name: coerce(item, hints.get(name)) for name, item in value.items()})
    return value
