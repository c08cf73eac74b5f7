"""The JSON Schemas of well-known names."""

from __future__ import annotations

from typing import Any

TYPING_MODULES = {"typing", "typing_extensions", "collections.abc", "collections", "builtins", "types"}
ARRAYS = {"list", "List", "Sequence", "MutableSequence", "Iterable", "Collection"}
SETS = {"set", "Set", "frozenset", "FrozenSet", "AbstractSet", "MutableSet"}
MAPS = {"dict", "Dict", "Mapping", "MutableMapping", "OrderedDict", "defaultdict"}
TYPING_WRAPPERS = {"Required", "NotRequired", "ReadOnly", "Final", "ClassVar", "dataclasses.InitVar"}

PLAIN: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "None": {"type": "null"},
    "NoneType": {"type": "null"},
    "Any": {},
    "object": {},
    "datetime.datetime": {"type": "string", "format": "date-time"},
    "datetime.date": {"type": "string", "format": "date"},
    "datetime.time": {"type": "string", "format": "time"},
    "datetime.timedelta": {"type": "number", "description": "seconds"},
    "uuid.UUID": {"type": "string", "format": "uuid"},
    "decimal.Decimal": {"type": "string"},
    "pathlib.Path": {"type": "string"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "tuple": {"type": "array"},
    "Tuple": {"type": "array"},
    **{name: {"type": "array"} for name in sorted(ARRAYS)},
    **{name: {"type": "array", "uniqueItems": True} for name in sorted(SETS)},
    **{name: {"type": "object"} for name in sorted(MAPS)},
}

FIELD_RULES = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "title": "title",
    "description": "description",
}
