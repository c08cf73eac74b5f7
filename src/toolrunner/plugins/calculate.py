"""Arithmetic and statistics, worked out exactly if possible."""

import ast
import math
import operator
import statistics
from fractions import Fraction
from typing import Optional

EFFECT = "read"


def calculate(expression: str, variables: Optional[dict] = None) -> dict:
    """Works out a mathematical expression, such as `sqrt(a**2 + b**2)` or `mean([1, 2, 4])`.

    Whole numbers and fractions are exact. Known are + - * / // % ** and comparisons, lists, pi, e, tau, the functions of
    Python's math module, and abs, round, min, max, sum, len, mean, median, mode, stdev, variance.

    Args:
        expression: What to work out.
        variables: Values of the names used in the expression: numbers or lists of numbers.
    """
    functions = {name: value for name, value in vars(math).items() if callable(value) and not name.startswith("_")}
    functions.update(abs=abs, round=round, min=min, max=max, sum=sum, len=len)
    functions.update({name: getattr(statistics, name) for name in ("mean", "median", "mode", "stdev", "variance", "pstdev", "pvariance")})
    names = {"pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, **(variables or {})}
    binary = {
        ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
        ast.Div: lambda a, b: Fraction(a) / b if isinstance(a, (int, Fraction)) and isinstance(b, (int, Fraction)) else a / b,
    }  # fmt: skip
    compare = {
        ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
    }  # fmt: skip

    def power(base, exponent):
        if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * abs(exponent) > 100_000:
            raise ValueError("the power is too large")
        return Fraction(base) ** exponent if isinstance(base, int) and isinstance(exponent, int) and exponent < 0 else base**exponent

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id in names:
            return names[node.id]
        if isinstance(node, (ast.List, ast.Tuple)):
            return [value(item) for item in node.elts]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return -value(node.operand) if isinstance(node.op, ast.USub) else value(node.operand)
        if isinstance(node, ast.BinOp):
            if isinstance(node.op, ast.Pow):
                return power(value(node.left), value(node.right))
            if type(node.op) in binary:
                return binary[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in compare:
            return compare[type(node.ops[0])](value(node.left), value(node.comparators[0]))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions and not node.keywords:
            return functions[node.func.id](*[value(argument) for argument in node.args])
        raise ValueError(f"not understood: {ast.unparse(node)}")

    result = value(ast.parse(expression.strip(), mode="eval").body)
    exact = None
    if isinstance(result, Fraction):
        exact = str(result)
        result = int(result) if result.denominator == 1 else float(result)
    if isinstance(result, float) and not math.isfinite(result):
        raise ValueError("the result is not a finite number")
    return {"result": result, **({"exact": exact} if exact and "/" in exact else {})}
