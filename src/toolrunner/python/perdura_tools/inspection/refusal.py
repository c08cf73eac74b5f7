"""The reason why a tool file is not valid, with its position."""

from __future__ import annotations

import ast
from typing import Any, Union


class Refusal(Exception):
    def __init__(self, message: str, node: Union[ast.stmt, ast.expr, ast.arg]):
        super().__init__(message)
        self.line, self.column = node.lineno, node.col_offset + 1

    @classmethod
    def at(cls, message: str, line: int, column: int) -> "Refusal":
        refusal = cls.__new__(cls)
        Exception.__init__(refusal, message)
        refusal.line, refusal.column = line, column
        return refusal

    def as_dict(self) -> dict[str, Any]:
        return {"message": str(self), "line": self.line, "column": self.column}
