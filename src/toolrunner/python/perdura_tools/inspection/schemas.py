"""Builds parts of JSON Schemas from plain values."""

from __future__ import annotations

import json
from typing import Any

Schema = dict[str, Any]
NULL: Schema = {"type": "null"}
JSON_NAMES = {bool: "boolean", str: "string", int: "integer", float: "number", type(None): "null"}


# Beyond it, JavaScript's numbers skip integers.
EXACT_INTEGERS = 1 << 53


def is_json(value: Any) -> bool:
    """Returns whether a schema can contain the value: JSON has it, it arrives unchanged, and a database can store it."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (TypeError, ValueError, RecursionError):
        return False
    if "\\u0000" in text:
        return False
    return type(value) is not int or abs(value) <= EXACT_INTEGERS


def alternatives(schema: Schema) -> list[Schema]:
    """Lists the alternatives of a schema. A union inside a union becomes its parts; a nullable type becomes the type and null."""
    if set(schema) == {"anyOf"}:
        return schema["anyOf"]
    kinds = schema.get("type")
    if isinstance(kinds, list) and "enum" not in schema:
        rest = {key: value for key, value in schema.items() if key != "type"}
        return [dict(NULL) if kind == "null" else {**rest, "type": kind} for kind in kinds]
    return [schema]


def with_null(schema: Schema) -> Schema:
    if "enum" in schema:
        return enumeration([*schema["enum"], *([] if None in schema["enum"] else [None])])
    if isinstance(schema.get("type"), str):
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, dict(NULL)]}


def enumeration(values: list[Any]) -> Schema:
    values = list({(type(value) is bool, value): value for value in values}.values())
    kinds = list(dict.fromkeys(JSON_NAMES[type(value)] for value in values if type(value) in JSON_NAMES))
    schema: Schema = {"enum": values}
    if kinds:
        schema = {"type": kinds[0] if len(kinds) == 1 else kinds, **schema}
    return schema
