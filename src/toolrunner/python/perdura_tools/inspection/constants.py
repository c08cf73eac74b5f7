"""Reads the module constants that a tool file may declare: ENV, EFFECT and NETWORK. They must be literals."""

from __future__ import annotations

import ast
import re
from typing import Any, Optional, Union

from .refusal import Refusal

EFFECTS = ("read", "idempotent", "write")
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
Assignment = Union[ast.Assign, ast.AnnAssign]


def read_constants(tree: ast.Module) -> dict[str, Any]:
    found = {name: node for node in tree.body for name in _assigned(node)}
    return {
        "env": _env(found.get("ENV")),
        "effect": _effect(found.get("EFFECT")),
        "network": _network(found.get("NETWORK")),
    }


def _assigned(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
        return [node.target.id]
    return []


def _literal(name: str, node: Assignment) -> Any:
    try:
        return ast.literal_eval(node.value)  # type: ignore[arg-type]
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise Refusal(f"{name} must be a literal, because the file is read and not executed", node.value or node) from None


def _env(node: Optional[Assignment]) -> dict[str, str]:
    if node is None:
        return {}
    value = _literal("ENV", node)
    if not isinstance(value, dict) or not all(isinstance(item, str) for pair in value.items() for item in pair):
        raise Refusal('ENV must be a dict such as {"API_KEY": "what it is for"}', node.value or node)
    for name in value:
        if not VARIABLE.fullmatch(name):
            raise Refusal(f"ENV: {name!r} is not a name for an environment variable", node.value or node)
    return value


def _effect(node: Optional[Assignment]) -> Optional[str]:
    if node is None:
        return None
    value = _literal("EFFECT", node)
    if value not in EFFECTS:
        raise Refusal(f"EFFECT must be one of {', '.join(map(repr, EFFECTS))}", node.value or node)
    return value


def _network(node: Optional[Assignment]) -> Optional[bool]:
    if node is None:
        return None
    value = _literal("NETWORK", node)
    if not isinstance(value, bool):
        raise Refusal("NETWORK must be True or False", node.value or node)
    return value
