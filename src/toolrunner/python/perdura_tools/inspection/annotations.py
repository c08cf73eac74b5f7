"""Converts a type hint to a JSON Schema, from the syntax alone."""

from __future__ import annotations

import ast
from typing import Any, Optional

from . import classes
from .classes import UNREADABLE
from .names import ARRAYS, FIELD_RULES, MAPS, PLAIN, SETS, TYPING_MODULES, TYPING_WRAPPERS
from .schemas import JSON_NAMES, NULL, Schema, alternatives, enumeration, is_json, with_null


class Types:
    """Resolves the names of one tool file. Hints that it cannot resolve become `{}` and a warning."""

    def __init__(self, tree: ast.Module):
        self.warnings: list[str] = []
        self.classes: dict[str, ast.ClassDef] = {}
        self.open: list[str] = []
        self._imported: dict[str, str] = {}
        self._aliases: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            self._learn_import(node)
        for node in tree.body:
            self._learn_definition(node)

    def _learn_import(self, node: ast.AST) -> None:
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                self._imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                self._imported[alias.asname or first] = alias.name if alias.asname else first

    def _learn_definition(self, node: ast.stmt) -> None:
        if isinstance(node, ast.ClassDef):
            self.classes[node.name] = node
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._aliases[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self._aliases[node.target.id] = node.value
        elif type(node).__name__ == "TypeAlias":
            self._aliases[node.name.id] = node.value  # type: ignore[attr-defined]

    def schema(self, hint: Optional[ast.expr]) -> Schema:
        """Returns the schema of a hint. Without a hint it is a string, as the interface defines."""
        if hint is None:
            return {"type": "string"}
        if isinstance(hint, ast.Constant):
            return self._constant(hint)
        if isinstance(hint, ast.BinOp) and isinstance(hint.op, ast.BitOr):
            return self._union([hint.left, hint.right])
        if isinstance(hint, ast.Subscript):
            return self._generic(hint)
        return self._named(hint)

    def _constant(self, hint: ast.Constant) -> Schema:
        if hint.value is None:
            return dict(NULL)
        inner = self.unquoted(hint)
        return self._unknown(hint) if inner is hint else self.schema(inner)

    def _named(self, hint: ast.expr) -> Schema:
        name = self.dotted(hint)
        if name in self.classes:
            return classes.class_schema(self, name)
        if name in PLAIN:
            return dict(PLAIN[name])
        if name in self._aliases and name not in self.open:
            self.open.append(name)
            try:
                return self._alias(self._aliases[name])
            finally:
                self.open.pop()
        return self._unknown(hint)

    def _alias(self, value: ast.expr) -> Schema:
        if not isinstance(value, ast.Call):
            return self.schema(value)
        factory = self.last_name(value.func)
        if factory == "NewType" and len(value.args) > 1:
            return self.schema(value.args[1])
        if factory == "TypedDict" and len(value.args) > 1 and isinstance(value.args[1], ast.Dict):
            fields = {key.value: hint for key, hint in zip(value.args[1].keys, value.args[1].values) if isinstance(key, ast.Constant)}
            named = {key: self.schema(hint) for key, hint in fields.items()}
            return {"type": "object", "properties": named, "required": [key for key in fields if classes.is_required(self, value, fields[key])]}
        return {} if factory == "TypeVar" else self._unknown(value)

    def _generic(self, hint: ast.Subscript) -> Schema:
        name = self.dotted(hint.value)
        args = hint.slice.elts if isinstance(hint.slice, ast.Tuple) else [hint.slice]
        if not args:
            return {"type": "array", "maxItems": 0} if name in ("tuple", "Tuple") else self._unknown(hint)
        if name == "Optional":
            return self._union([*args, ast.Constant(None)])
        if name == "Union":
            return self._union(args)
        if name == "Literal":
            return self._literal_schema(hint, args)
        if name == "Annotated":
            return self._annotated(args)
        if name in ARRAYS or name in SETS:
            unique = {"uniqueItems": True} if name in SETS else {}
            return {"type": "array", **self._items(args[0]), **unique}
        if name in ("tuple", "Tuple"):
            return self._tuple(hint, args)
        if name in MAPS:
            values = self.schema(args[1]) if len(args) > 1 else {}
            return {"type": "object", "additionalProperties": values} if values else {"type": "object"}
        if name in TYPING_WRAPPERS:
            return self.schema(args[0])
        if name in self.classes:
            return classes.class_schema(self, name)
        return self._unknown(hint)

    def _items(self, hint: ast.expr) -> Schema:
        items = self.schema(hint)
        return {"items": items} if items else {}

    def _tuple(self, hint: ast.expr, args: list[ast.expr]) -> Schema:
        if len(args) == 2 and isinstance(args[1], ast.Constant) and args[1].value is Ellipsis:
            return {"type": "array", **self._items(args[0])}
        if any(isinstance(arg, ast.Starred) or (isinstance(arg, ast.Subscript) and self.dotted(arg.value) == "Unpack") for arg in args):
            self.warn(hint, f"the length of {ast.unparse(hint)[:80]!r} is not fixed, so any list is accepted")
            return {"type": "array"}
        return {"type": "array", "prefixItems": [self.schema(arg) for arg in args], "minItems": len(args), "maxItems": len(args)}

    def _literal_schema(self, hint: ast.expr, args: list[ast.expr]) -> Schema:
        values = [value for arg in args for value in self._literals(arg)]
        if UNREADABLE not in values:
            return enumeration(values)
        self.warn(hint, f"not every value of {ast.unparse(hint)[:80]!r} can be read, so any value is accepted")
        return {}

    def _literals(self, arg: ast.expr) -> list[Any]:
        """Lists the values of one argument of a `Literal`, with UNREADABLE for those that are known only when the file runs."""
        if isinstance(arg, ast.Tuple):
            return [value for part in arg.elts for value in self._literals(part)]
        if isinstance(arg, ast.Subscript) and self.dotted(arg.value) == "Literal":
            return self._literals(arg.slice)
        if isinstance(arg, ast.Name) and arg.id in self._aliases and arg.id not in self.open:
            self.open.append(arg.id)
            try:
                return self._literals(self._aliases[arg.id])
            finally:
                self.open.pop()
        if isinstance(arg, ast.Attribute) and isinstance(arg.value, ast.Name) and arg.value.id in self.classes:
            return [classes.enum_members(self, arg.value.id).get(arg.attr, UNREADABLE)]
        known, value = self.literal(arg)
        return [value if known and type(value) in JSON_NAMES and is_json(value) else UNREADABLE]

    def _annotated(self, args: list[ast.expr]) -> Schema:
        entry = self.schema(args[0])
        for extra in args[1:]:
            known, value = self.literal(extra)
            if known and isinstance(value, str):
                entry.setdefault("description", value)
            elif isinstance(extra, ast.Call):
                apply = self.apply_field if self.last_name(extra.func) == "Field" else self._apply_rules
                apply(extra, entry)
        return entry

    def _union(self, parts: list[ast.expr]) -> Schema:
        choices: list[Schema] = []
        for part in parts:
            for choice in alternatives(self.schema(part)):
                if choice not in choices:
                    choices.append(choice)
        nullable = NULL in choices
        choices = [choice for choice in choices if choice != NULL]
        if not choices:
            return dict(NULL)
        if {} in choices:
            return {}
        if len(choices) == 1:
            return with_null(choices[0]) if nullable else choices[0]
        if all(set(choice) == {"type"} for choice in choices):
            return {"type": [choice["type"] for choice in choices] + (["null"] if nullable else [])}
        return {"anyOf": choices + ([dict(NULL)] if nullable else [])}

    def apply_field(self, call: ast.Call, entry: Schema) -> tuple[Schema, bool]:
        """Writes the constraints and the default of a `Field(...)` into the entry. Returns whether it has a default."""
        given = self._apply_rules(call, entry)
        default = call.args[0] if call.args else given.get("default")
        if default is None or (isinstance(default, ast.Constant) and default.value is Ellipsis):
            return entry, "default_factory" in given
        known, value = self.literal(self.value_of(default))
        entry.pop("default", None)
        if known and is_json(value):
            entry["default"] = value
        return entry, True

    def _apply_rules(self, call: ast.Call, entry: Schema) -> dict[str, ast.expr]:
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        kinds = entry.get("type")
        is_array = "array" in (kinds if isinstance(kinds, list) else [kinds])
        for name, rule in FIELD_RULES.items():
            known, value = self.literal(given[name]) if name in given else (False, None)
            if known and is_json(value):
                entry[rule.replace("Length", "Items") if is_array else rule] = value
        return given

    def has_default(self, hint: Optional[ast.expr]) -> bool:
        """Returns whether the hint is `Annotated[…, Field(…)]` whose Field has a default."""
        hint = self.unquoted(hint) if hint else hint
        if isinstance(hint, ast.Name) and hint.id in self._aliases and hint.id not in self.open:
            self.open.append(hint.id)
            try:
                return self.has_default(self._aliases[hint.id])
            finally:
                self.open.pop()
        if not isinstance(hint, ast.Subscript) or self.dotted(hint.value) != "Annotated" or not isinstance(hint.slice, ast.Tuple):
            return False
        inner, *extras = hint.slice.elts
        fields = [extra for extra in extras if isinstance(extra, ast.Call) and self.last_name(extra.func) == "Field"]
        return any(self.apply_field(field, {})[1] for field in fields) or self.has_default(inner)

    def dotted(self, node: ast.expr) -> str:
        """Returns the full name of an expression, with import aliases resolved and typing modules removed; '' if it is
        not a name.
        """
        name = self._full_name(node)
        module, _, last = name.rpartition(".")
        return last if module in TYPING_MODULES else name

    def _full_name(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return self._imported.get(node.id, node.id)
        base = self._full_name(node.value) if isinstance(node, ast.Attribute) else ""
        return f"{base}.{node.attr}" if base else ""

    def last_name(self, node: ast.expr) -> str:
        return self.dotted(node).rpartition(".")[2]

    def value_of(self, node: ast.expr) -> ast.expr:
        """Returns the value of a constant of the file; any other node unchanged."""
        return self._aliases.get(node.id, node) if isinstance(node, ast.Name) else node

    def literal(self, node: ast.expr) -> tuple[bool, Any]:
        try:
            return True, ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            return False, None

    def unquoted(self, hint: ast.expr) -> ast.expr:
        """Returns the expression of a hint in quotes; any other hint unchanged."""
        if isinstance(hint, ast.Constant) and isinstance(hint.value, str):
            try:
                return ast.parse(hint.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                pass
        return hint

    def _unknown(self, hint: ast.expr) -> Schema:
        self.warn(hint, f"no schema for the hint {ast.unparse(hint)[:80]!r}")
        return {}

    def warn(self, node: ast.AST, text: str) -> None:
        self.warnings.append(f"line {getattr(node, 'lineno', 1)}: {text}")
