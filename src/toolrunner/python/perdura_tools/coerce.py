"""Converts JSON arguments to the richer types that a tool's parameters declare.

This is the counterpart of what `inspection` writes into the schema: enums, dataclasses, models, dates, sets and the
like. Values for plain hints (str, int, float, bool, list, dict) are never changed, and neither are those for a hint
that cannot be resolved.
"""

from __future__ import annotations

import collections.abc
import copy
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
    """Converts the arguments, and adds the defaults of `Field(…)`; raises a ValueError that names an argument that does not fit."""
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating a hint may raise anything; the value can still be passed unchanged
        hints = {}
    given = {name: _named(name, value, hints.get(name)) for name, value in arguments.items()}
    return {**given, **_field_defaults(function, hints, given)}


def _field_defaults(function: Any, hints: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Returns what pydantic's `Field(…)` declares for the parameters that were left out, as a default or in `Annotated`."""
    found: dict[str, Any] = {}
    code = getattr(function, "__code__", None)
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
    positional = names[: code.co_argcount] if code else ()
    defaults = dict(zip(reversed(positional), reversed(getattr(function, "__defaults__", None) or ())))
    defaults.update(getattr(function, "__kwdefaults__", None) or {})
    for name in names:
        if name in given:
            continue
        fields = [defaults[name]] if name in defaults else [*reversed(getattr(_unalias(hints.get(name)), "__metadata__", ()))]
        for field in filter(_is_field, fields):
            if _has_value(field):
                found[name] = _value_of(field, {**given, **found})
                break
        else:
            if any(map(_is_field, fields)) and name in defaults:
                raise ValueError(f"argument {name} is missing")
    return found


def _is_field(value: Any) -> bool:
    return any(kind.__name__ == "FieldInfo" and kind.__module__.startswith("pydantic") for kind in type(value).__mro__)


def _has_value(field: Any) -> bool:
    """Returns whether a field has a default: neither `...` nor pydantic's mark for none."""
    return bool(field.default_factory) or not (field.default is Ellipsis or "Undefined" in type(field.default).__name__)


def _value_of(field: Any, given: dict[str, Any]) -> Any:
    if not field.default_factory:
        return copy.deepcopy(field.default)
    return field.default_factory(given) if getattr(field, "default_factory_takes_validated_data", False) else field.default_factory()


def _unalias(hint: Any) -> Any:
    """Returns what a `NewType` or a `type` statement stands for."""
    while True:
        inner = getattr(hint, "__supertype__", None) or getattr(hint, "__value__", None)
        if inner is None:
            return hint
        hint = inner


def _named(name: str, value: Any, hint: Any) -> Any:
    try:
        return coerce(value, hint)
    except (ValueError, TypeError, KeyError, ArithmeticError) as reason:
        raise ValueError(f"argument {name}: {reason}") from None


def coerce(value: Any, hint: Any) -> Any:
    hint = _unalias(hint)
    if hasattr(hint, "__metadata__"):
        return coerce(value, hint.__origin__)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return _literal(value, parts)
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


def _literal(value: Any, parts: tuple[Any, ...]) -> Any:
    """Returns the member that a `Literal[Color.RED]` means by its value, and any other value unchanged."""
    return next((part for part in parts if isinstance(part, enum.Enum) and value in (part.value, part.name)), value)


def _member(value: Any, kind: type[enum.Enum]) -> Any:
    """Finds a member by its value, where lists of JSON stand for tuples, or by its name."""
    try:
        return kind(value)
    except (ValueError, TypeError):
        pass
    for name, member in kind.__members__.items():
        if name == value or (isinstance(value, list) and member.value == _as_tuples(value)):
            return member
    return kind(value)


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


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
        return value if isinstance(value, hint) else _member(value, hint)
    if not isinstance(value, dict):
        return value
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if dataclasses.is_dataclass(hint) or (issubclass(hint, tuple) and hasattr(hint, "_fields")):
        hints = typing.get_type_hints(hint)
        return hint(**{name: coerce(item, hints.get(name)) for name, item in value.items()})
    return value
