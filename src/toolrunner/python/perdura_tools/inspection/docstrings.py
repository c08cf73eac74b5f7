"""Parses the summary and the parameter descriptions of a docstring in Google, NumPy or Sphinx style."""

from __future__ import annotations

import re

SPHINX = re.compile(r"\s*[:@](?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*?\s)?\*{0,2}(\w+)\s*:\s*(.*)")
SPHINX_FIELD = re.compile(r"\s*[:@]\w[^:]*:")
GOOGLE_HEAD = re.compile(r"(\s*)(Args|Arguments|Parameters|Params|Keyword Args|Keyword Arguments):\s*")
GOOGLE_ITEM = re.compile(r"(?:[-*+]\s+)?[*`]{0,2}(\w+)[*`]{0,2}\s*(?:\((?:[^()]|\([^()]*\))*\))?\s*:\s*(.*)")
NUMPY_HEAD = re.compile(r"\s*(?:Other )?Parameters\s*")
UNDERLINE = re.compile(r"\s*-{3,}\s*")
SECTION = re.compile(r"\s*(Returns?|Yields?|Raises|Examples?|Notes?|See Also|Warnings?|References):?\s*")




def parse_docstring(text: str) -> tuple[str, dict[str, str]]:
    # A database stores neither NUL nor a lone surrogate.
    lines = text.replace("\0", "\ufffd").encode(errors="replace").decode().expandtabs().splitlines()
    for index, line in enumerate(lines):
        if SPHINX.match(line):
            return _summary(lines[:index]), _sphinx(lines[index:])
        if _is_numpy_head(lines, index):
            return _summary(lines[:index]), _numpy(lines[index + 2 :], _indent(line))
        if GOOGLE_HEAD.fullmatch(line):
            return _summary(lines[:index]), _google(lines[index + 1 :], _indent(line))
    return _summary(lines), {}


def _summary(lines: list[str]) -> str:
    """Returns the lines before the first section of any style."""
    for index, line in enumerate(lines):
        underlined = index + 1 < len(lines) and UNDERLINE.fullmatch(lines[index + 1])
        if SPHINX_FIELD.match(line) or (SECTION.fullmatch(line) and (underlined or line.rstrip().endswith(":"))):
            return "\n".join(lines[:index]).strip()
    return "\n".join(lines).strip()


def _is_numpy_head(lines: list[str], index: int) -> bool:
    return bool(index + 1 < len(lines) and NUMPY_HEAD.fullmatch(lines[index]) and UNDERLINE.fullmatch(lines[index + 1]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _fold(found: dict[str, list[str]]) -> dict[str, str]:
    return {name: " ".join(" ".join(parts).split()) for name, parts in found.items()}


def _sphinx(lines: list[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    for line in lines:
        match = SPHINX.match(line)
        if match:
            current = found.setdefault(match[1], [match[2]])
        elif SPHINX_FIELD.match(line) or not line.strip():
            current = None
        elif current is not None:
            current.append(line.strip())
    return _fold(found)


def _google(lines: list[str], head: int) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    item_indent: int | None = None
    for line in lines:
        if not line.strip():
            continue
        if _indent(line) <= head:
            break
        item_indent = _indent(line) if item_indent is None else item_indent
        match = GOOGLE_ITEM.match(line.strip()) if _indent(line) <= item_indent else None
        if match:
            current = found.setdefault(match[1], [match[2]])
        elif current is not None:
            current.append(line.strip())
    return _fold(found)


def _numpy(lines: list[str], head: int) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    current: list[list[str]] = []
    for index, line in enumerate(lines):
        if line.strip() and index + 1 < len(lines) and UNDERLINE.fullmatch(lines[index + 1]):
            if NUMPY_HEAD.fullmatch(line):
                current = []
                continue
            break
        if UNDERLINE.fullmatch(line) or not line.strip():
            continue
        if _indent(line) <= head:
            names = line.split(":")[0].split(",")
            current = [found.setdefault(name.strip().lstrip("*"), []) for name in names]
        else:
            for parts in current:
                parts.append(line.strip())
    return _fold(found)
