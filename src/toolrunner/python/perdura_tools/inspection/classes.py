"""Converts classes of the same file to schemas: enums, dataclasses, TypedDict, NamedTuple and pydantic models."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .schemas import Schema, enumeration

if TYPE_CHECKING:
    from .annotations import Types

ENUMS = {"Enum", "StrEnum", "IntEnum"}


def class_schema(types: "Types", name: str) -> Schema:
    node = types.classes[name]
    if name in types.open:
        return {"type": "object"}
    bases = [types.last_name(base) for base in node.bases]
    if ENUMS & set(bases):
        return enumeration(list(enum_members(types, name).values()))
    if not _has_fields(types, node, bases):
        types.warnings.append(f"line {node.lineno}: class {name} is not a dataclass, TypedDict, NamedTuple, model or enum")
        return {"type": "object"}
    types.open.append(name)
    try:
        return _object(types, node, bases)
    finally:
        types.open.pop()


def enum_members(types: "Types", name: str) -> dict[str, Any]:
    node = types.classes[name]
    is_text = any(types.last_name(base) == "StrEnum" for base in node.bases)
    members: dict[str, Any] = {}
    for statement in node.body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        if not isinstance(target, ast.Name) or target.id.startswith("_"):
            continue
        known, value = types.literal(statement.value)
        if not known and isinstance(statement.value, ast.Call) and types.last_name(statement.value.func) == "auto":
            known, value = True, target.id.lower() if is_text else len(members) + 1
        if known and isinstance(value, (str, int, float, bool, type(None))):
            members[target.id] = value
    return members


def _has_fields(types: "Types", node: ast.ClassDef, bases: list[str]) -> bool:
    decorators = [types.last_name(item.func if isinstance(item, ast.Call) else item) for item in node.decorator_list]
    return bool({"TypedDict", "NamedTuple", "BaseModel"} & set(bases)) or "dataclass" in decorators or any(base in types.classes for base in bases)


def _object(types: "Types", node: ast.ClassDef, bases: list[str]) -> Schema:
    properties: Schema = {}
    required: list[str] = []
    for base in bases:
        if base in types.classes:
            inherited = class_schema(types, base)
            properties.update(inherited.get("properties", {}))
            required += inherited.get("required", [])
    is_typed_dict = _is_typed_dict(types, node)
    for field in node.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name) or _wrapper(types, field) == "ClassVar":
            continue
        name = field.target.id
        properties[name], needed = _field(types, field)
        if is_typed_dict:
            needed = _typed_dict_needs(types, node, field)
        required = [other for other in required if other != name] + ([name] if needed else [])
    schema: Schema = {"type": "object", "properties": properties, "required": required}
    text = ast.get_docstring(node)
    return {**schema, "description": text.strip().split("\n\n")[0]} if text else schema


def _field(types: "Types", field: ast.AnnAssign) -> tuple[Schema, bool]:
    """Returns the schema of one field, and whether the field is required."""
    entry = types.schema(field.annotation)
    if field.value is None:
        return entry, True
    if isinstance(field.value, ast.Call) and types.last_name(field.value.func) in ("Field", "field"):
        entry, optional = types.apply_field(field.value, entry)
        return entry, not optional
    known, value = types.literal(field.value)
    if known and isinstance(value, (str, int, float, bool, list, dict, type(None))):
        entry["default"] = value
    return entry, False


def _is_typed_dict(types: "Types", node: ast.ClassDef) -> bool:
    names = [types.last_name(base) for base in node.bases]
    return "TypedDict" in names or any(base in types.classes and base != node.name and _is_typed_dict(types, types.classes[base]) for base in names)


def _typed_dict_needs(types: "Types", node: ast.ClassDef, field: ast.AnnAssign) -> bool:
    wrapper = _wrapper(types, field)
    if wrapper in ("Required", "NotRequired"):
        return wrapper == "Required"
    return not any(keyword.arg == "total" and types.literal(keyword.value) == (True, False) for keyword in node.keywords)


def _wrapper(types: "Types", field: ast.AnnAssign) -> str:
    hint = field.annotation
    return types.last_name(hint.value) if isinstance(hint, ast.Subscript) else ""
