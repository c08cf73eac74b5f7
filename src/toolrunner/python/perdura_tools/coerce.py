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
import sys
import types
import typing
import uuid
from typing import Any, Callable

UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
SEQUENCES = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection, collections.abc.MutableSequence)
SETS = {set: set, frozenset: frozenset, collections.abc.Set: frozenset, collections.abc.MutableSet: set}
MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
# Python 3.11 added these marks.
REQUIRED = {getattr(typing, name): name == "Required" for name in ("Required", "NotRequired") if hasattr(typing, name)}


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
    hints = _hints(function, include_extras=True)
    given = {name: _named(name, value, hints.get(name)) for name, value in arguments.items()}
    return {**given, **_field_defaults(function, hints, given)}


def _hints(owner: Any, include_extras: bool = False) -> dict[str, Any]:
    """Returns the hints of a function or class, without those that cannot be evaluated: their values are passed unchanged."""
    try:
        return typing.get_type_hints(owner, include_extras=include_extras)
    except Exception:  # noqa: BLE001 - evaluating a hint may raise anything
        pass
    names = getattr(owner, "__globals__", None) or vars(sys.modules.get(getattr(owner, "__module__", ""), types))
    found: dict[str, Any] = {}
    for name, hint in (getattr(owner, "__annotations__", None) or {}).items():
        try:
            found.update(typing.get_type_hints(types.SimpleNamespace(__annotations__={name: hint}), names, include_extras=include_extras))
        except Exception:  # noqa: BLE001 - as above
            continue
    return found


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


def _unwrap(hint: Any) -> Any:
    """Returns the type within aliases, `Annotated` and `InitVar`."""
    while True:
        hint = _unalias(hint)
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
        elif hasattr(hint, "__metadata__"):
            hint = hint.__origin__
        else:
            return hint


def _named(name: str, value: Any, hint: Any) -> Any:
    try:
        return coerce(value, hint)
    except (ValueError, TypeError, KeyError, ArithmeticError) as reason:
        raise ValueError(f"argument {name}: {reason}") from None


def coerce(value: Any, hint: Any) -> Any:
    hint = _unwrap(hint)
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
    """Returns the value if its type is one of the choices, or else the result of the first conversion.

    Any object converts to any TypedDict, so those whose keys differ are tried last.
    """
    if value is None or any(isinstance(choice, type) and type(value) is choice for choice in choices):
        return value
    for choice in sorted(choices, key=lambda choice: _differs(value, choice)):
        try:
            found = coerce(value, choice)
        except (ValueError, TypeError, KeyError, ArithmeticError):
            continue
        if found is not value:
            return found
    return value


def _differs(value: Any, choice: Any) -> bool:
    """Returns whether the choice is a TypedDict, and the value an object that lacks a required key or has an unknown one."""
    hint = _unwrap(choice)
    kind = typing.get_origin(hint) or hint
    if not isinstance(value, dict) or not _is_typed_dict(kind):
        return False
    known = kind.__required_keys__ | kind.__optional_keys__
    hints = _hints(kind, include_extras=True)
    required = {name for name in known if _is_required(hints.get(name), name in kind.__required_keys__)}
    return not required <= value.keys() <= known


def _is_required(hint: Any, default: bool) -> bool:
    """Reads the marks of the hint first, because `__required_keys__` misses those in quotes."""
    while hasattr(hint, "__metadata__"):
        hint = hint.__origin__
    return REQUIRED.get(typing.get_origin(hint), default)


def _is_typed_dict(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, dict) and hasattr(kind, "__total__")


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
            if len(hints) != len(value):
                return tuple(value)
            return tuple(coerce(item, hint) for item, hint in zip(value, hints))
        if origin in (*SETS, *SEQUENCES):
            # The bare aliases of typing, such as `List`, have an origin but no parts.
            items = [coerce(item, parts[0]) for item in value] if parts else value
            return SETS[origin](items) if origin in SETS else items
    if isinstance(value, dict) and origin in MAPPINGS and len(parts) == 2:
        return {_key(key, parts[0]): coerce(item, parts[1]) for key, item in value.items()}
    return _instance(value, origin) if isinstance(value, dict) and isinstance(origin, type) and origin not in MAPPINGS else value


def _key(key: Any, hint: Any) -> Any:
    """Converts a key, which is always text in JSON."""
    hint = _unwrap(hint)
    return hint(key) if hint in (int, float) and isinstance(key, str) else coerce(key, hint)


def _instance(value: Any, hint: type) -> Any:
    if hint in CONVERTERS:
        return CONVERTERS[hint](value) if isinstance(value, (str, int, float, list)) else value
    if issubclass(hint, enum.Enum):
        return value if isinstance(value, hint) else _member(value, hint)
    if getattr(hint, "__pydantic_root_model__", False) and not isinstance(value, hint):
        return hint.model_validate(value)
    if not isinstance(value, dict):
        return value
    if _is_typed_dict(hint):
        hints = _hints(hint)
        return {name: coerce(item, hints.get(name)) for name, item in value.items()}
    if hasattr(hint, "model_validate"):
        return hint.model_validate(value)
    if dataclasses.is_dataclass(hint) or (issubclass(hint, tuple) and hasattr(hint, "_fields")):
        hints = _hints(hint)
        return hint(**{name: coerce(item, hints.get(name)) for name, item in value.items()})
    return value
