"""Checks the rules of a tool file, and reads its declarations."""

from __future__ import annotations

import ast
import warnings
from typing import Any, Iterator, Optional, Union

from .annotations import Types
from .constants import read_constants
from .docstrings import parse_docstring
from .names import PLAIN
from .refusal import Refusal
from .schemas import is_json, with_null

Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


def inspect_source(name: str, source: str) -> dict[str, Any]:
    """Returns `{schema, description, env, …}` or `{error: {message, line, column}}`; executes nothing."""
    try:
        tree = _parse(source.lstrip("\ufeff"), name)
        function = _single_function(tree)
        if function.name != name:
            raise Refusal(f"the function is named {function.name!r}, but the tool is named {name!r}", function)
        types = Types(tree)
        summary, described = parse_docstring(ast.get_docstring(function) or "")
        schema = _schema(function, types, described)
        return {
            "schema": schema,
            "description": summary,
            "imports": sorted(_imports(tree)),
            "warnings": types.warnings,
            **read_constants(tree),
        }
    except Refusal as refusal:
        return {"error": refusal.as_dict()}


def _parse(source: str, name: str) -> ast.Module:
    filename = f"<tool {name}>"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, filename=filename)
            compile(source, filename, "exec", dont_inherit=True)
        return tree
    except SyntaxError as reason:
        raise Refusal.at(f"syntax error: {reason.msg}", reason.lineno or 1, reason.offset or 1) from None
    except (ValueError, RecursionError, MemoryError, OverflowError) as reason:
        raise Refusal.at(f"the source cannot be parsed: {reason or type(reason).__name__}", 1, 1) from None


def _single_function(tree: ast.Module) -> Function:
    found = list(_functions(tree.body))
    if not found:
        raise Refusal.at("the source must define exactly one function, found none", 1, 1)
    if len(found) > 1:
        names = ", ".join(function.name for function in found)
        raise Refusal(f"the source must define exactly one function, found {len(found)}: {names}", found[1])
    return found[0]


def _functions(body: list[ast.stmt]) -> Iterator[Function]:
    """Yields the module's functions, including those under `if`, `try`, `with` and loops, but not methods and inner functions."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        elif not isinstance(node, ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from _functions(getattr(node, part, []))
            for handler in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                yield from _functions(handler.body)


def _schema(function: Function, types: Types, described: dict[str, str]) -> dict[str, Any]:
    signature = function.args
    for extra, stars in ((signature.vararg, "*"), (signature.kwarg, "**")):
        if extra:
            raise Refusal(f"{stars}{extra.arg} has no schema: name every parameter", extra)
    properties: dict[str, Any] = {}
    required: list[str] = []
    for parameter, default in _parameters(signature):
        entry, optional = _property(parameter, default, types)
        text = described.get(parameter.arg)
        if text:
            entry.setdefault("description", text)
        properties[parameter.arg] = entry
        if not optional:
            required.append(parameter.arg)
    return {"type": "object", "properties": properties, "required": required}


def _parameters(signature: ast.arguments) -> Iterator[tuple[ast.arg, Optional[ast.expr]]]:
    positional = [*signature.posonlyargs, *signature.args]
    missing = len(positional) - len(signature.defaults)
    yield from zip(positional, [*[None] * missing, *signature.defaults])
    yield from zip(signature.kwonlyargs, signature.kw_defaults)


def _property(parameter: ast.arg, default: Optional[ast.expr], types: Types) -> tuple[dict[str, Any], bool]:
    """Returns the schema of a parameter, and whether it may be left out."""
    entry = types.schema(parameter.annotation)
    if default is None:
        return entry, types.has_default(parameter.annotation)
    if isinstance(default, ast.Call) and types.last_name(default.func) == "Field":
        return types.apply_field(default, entry)
    entry.pop("default", None)
    known, value = types.literal(types.value_of(default))
    if known and is_json(value):
        if parameter.annotation is None:
            entry = _type_of_default(value)
        entry["default"] = value
    elif parameter.annotation is None:
        types.warn(default, f"the type of the default {ast.unparse(default)[:80]!r} cannot be read, so any value of {parameter.arg} is accepted")
        entry = {}
    return entry, True


def _type_of_default(value: Any) -> dict[str, Any]:
    """Derives a schema from the default if there is no hint. If it were a string, the tool would receive a number as text."""
    kind = PLAIN.get(type(value).__name__, PLAIN["str"])
    return with_null(PLAIN["str"]) if value is None else dict(kind)


def _imports(tree: ast.Module) -> set[str]:
    """Lists the top-level packages that the file imports."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found
