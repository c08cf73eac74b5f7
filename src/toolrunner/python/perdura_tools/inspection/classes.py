"""Converts classes of the same file to schemas: enums, dataclasses, TypedDict, NamedTuple and pydantic models."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union

from .schemas import JSON_NAMES, Schema, enumeration, is_json

if TYPE_CHECKING:
    from .annotations import Types

ENUMS = {"Enum", "StrEnum", "IntEnum", "ReprEnum", "Flag", "IntFlag"}
# The types of values that a mixed-in class makes of what a member is assigned.
MIXINS: dict[str, type] = {"str": str, "StrEnum": str, "int": int, "IntEnum": int, "IntFlag": int, "Flag": int}
# Stands for a value that is known only when the file runs.
UNREADABLE: Any = object()


def class_schema(types: "Types", name: str) -> Schema:
    node = types.classes[name]
    if name in types.open:
        return {"type": "object"}
    bases = [types.last_name(base) for base in node.bases]
    types.open.append(name)
    try:
        if ENUMS & _ancestors(types, name):
            return _enum(types, name)
        if _has_fields(types, node, bases):
            return _object(types, node, bases)
    finally:
        types.open.pop()
    types.warn(node, f"class {name} is not a dataclass, TypedDict, NamedTuple, model or enum")
    # A class with bases, such as a subclass of str or a RootModel, may stand for any value.
    return {} if set(bases) - {"object", "Generic", "Protocol", "ABC"} else {"type": "object"}


def _ancestors(types: "Types", name: str) -> set[str]:
    """Lists the names of all bases, through the classes of the file."""
    found: set[str] = set()
    open_names = [name]
    while open_names:
        node = types.classes.get(open_names.pop())
        bases = {types.last_name(base) for base in node.bases} - found if node else set()
        found |= bases
        open_names += bases
    return found


def _enum(types: "Types", name: str) -> Schema:
    """Lists the values if all are known; otherwise every value is accepted, and the names of the members are described."""
    members = enum_members(types, name)
    kinds = {kind for base, kind in MIXINS.items() if base in _ancestors(types, name)}
    is_flag = bool({"Flag", "IntFlag"} & _ancestors(types, name))
    if members and UNREADABLE not in members.values() and not is_flag:
        return enumeration(list(members.values()))
    if not is_flag:
        types.warn(types.classes[name], f"not every value of {name} can be read, so any value is accepted")
    widened: Schema = {"type": JSON_NAMES[kinds.pop()]} if len(kinds) == 1 else {}
    return {**widened, "description": f"{'flags' if is_flag else 'one'} of {', '.join(members)}"[:500]} if members else widened


def enum_members(types: "Types", name: str) -> dict[str, Any]:
    """Returns the members with their values; UNREADABLE for values that JSON lacks or known only when the file runs."""
    node = types.classes[name]
    ancestors = _ancestors(types, name)
    methods = {item.name for owner in (name, *ancestors) if owner in types.classes for item in types.classes[owner].body if hasattr(item, "name")}
    kind = next((kind for base, kind in MIXINS.items() if base in ancestors), None)
    is_odd = bool({"__new__", "__init__"} & methods or ancestors - {*ENUMS, *MIXINS, *types.classes, "float", "object"})
    members: dict[str, Any] = {}
    for key, value in _assignments(node.body):
        if value is None or is_odd:
            members[key] = UNREADABLE
        elif isinstance(value, ast.Call) and types.last_name(value.func) == "auto":
            members[key] = UNREADABLE if "_generate_next_value_" in methods else _auto(key, list(members.values()), ancestors)
        elif isinstance(value, ast.Name) and value.id in members:
            members[key] = members[value.id]
        elif not (isinstance(value, ast.Call) and types.last_name(value.func) == "nonmember") and not isinstance(value, ast.Lambda):
            members[key] = _member_value(types, value, kind)
    return members


def _assignments(body: list[ast.stmt]) -> Iterator[tuple[str, Optional[ast.expr]]]:
    """Yields the public names that the body of a class assigns, with None for a value that depends on the run."""
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            continue
        plain = isinstance(statement, (ast.Assign, ast.AnnAssign))
        for target in ast.walk(statement):
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store) and not target.id.startswith("_"):
                direct = plain and target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
                yield target.id, statement.value if direct else None


def _auto(key: str, before: list[Any], ancestors: set[str]) -> Any:
    if "StrEnum" in ancestors:
        return key.lower()
    if {"str", "Flag", "IntFlag"} & ancestors or not all(type(value) is int for value in before):
        return UNREADABLE
    # Up to Python 3.12 the number after the last one, later the number after the highest.
    return UNREADABLE if before and before[-1] != max(before) else (before or [0])[-1] + 1


def _member_value(types: "Types", node: ast.expr, kind: Optional[type]) -> Any:
    known, value = types.literal(types.value_of(node))
    if not known or type(value) not in JSON_NAMES or not is_json(value):
        return UNREADABLE
    return value if kind in (None, type(value)) else UNREADABLE


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
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.target, ast.Name) or _is_not_given(types, node, field):
            continue
        name = _name(types, field)
        properties[name], needed = _field(types, field)
        if is_typed_dict:
            needed = is_required(types, node, field.annotation)
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
    known, value = types.literal(types.value_of(field.value))
    if known and is_json(value):
        entry["default"] = value
    return entry, False


def _is_typed_dict(types: "Types", node: ast.ClassDef) -> bool:
    names = [types.last_name(base) for base in node.bases]
    return "TypedDict" in names or any(base in types.classes and base != node.name and _is_typed_dict(types, types.classes[base]) for base in names)


def is_required(types: "Types", node: Union[ast.ClassDef, ast.Call], hint: ast.expr) -> bool:
    """Returns whether a TypedDict, as a class or a call, requires a key with this hint."""
    wrappers = _wrappers(types, hint)
    if "Required" in wrappers or "NotRequired" in wrappers:
        return "Required" in wrappers
    return not any(keyword.arg == "total" and types.literal(keyword.value) == (True, False) for keyword in node.keywords)


def _wrappers(types: "Types", hint: ast.expr) -> list[str]:
    """Lists the names around a hint, such as `Annotated` and `NotRequired`, from the outside."""
    hint = types.unquoted(hint)
    if not isinstance(hint, ast.Subscript):
        return [types.last_name(hint)]
    name = types.last_name(hint.value)
    if name not in ("Annotated", "Required", "NotRequired", "ReadOnly", "Final", "ClassVar"):
        return [name]
    inner = hint.slice.elts[0] if isinstance(hint.slice, ast.Tuple) and hint.slice.elts else hint.slice
    return [name, *_wrappers(types, inner)]


def _is_not_given(types: "Types", node: ast.ClassDef, field: ast.AnnAssign) -> bool:
    """Returns whether a field is none that a caller gives: of the class, a mark, private of a model, or set by the dataclass itself."""
    if {"ClassVar", "KW_ONLY"} & set(_wrappers(types, field.annotation)):
        return True
    if field.target.id.startswith("_") and "BaseModel" in _ancestors(types, node.name):
        return True
    return any(keyword.arg == "init" and types.literal(keyword.value) == (True, False) for keyword in _field_keywords(types, field))


def _field_keywords(types: "Types", field: ast.AnnAssign) -> list[ast.keyword]:
    is_field = isinstance(field.value, ast.Call) and types.last_name(field.value.func) in ("Field", "field")
    return field.value.keywords if is_field else []


def _name(types: "Types", field: ast.AnnAssign) -> str:
    """Returns the name by which a value is given: that of a model's alias, if it has one."""
    found = {keyword.arg: types.literal(keyword.value)[1] for keyword in _field_keywords(types, field)}
    names = [found.get(key) for key in ("validation_alias", "alias") if isinstance(found.get(key), str)]
    return names[0] if names else field.target.id
