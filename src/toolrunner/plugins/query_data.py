"""Questions to CSV and JSON, without writing a program for each."""

import csv
import io
import json
import re
from typing import Any, Literal, Optional

EFFECT = "read"


def query_data(
    data: str,
    format: Literal["json", "csv"] = "json",
    path: str = "",
    where: Optional[dict] = None,
    select: Optional[list[str]] = None,
    order_by: str = "",
    descending: bool = False,
    group_by: str = "",
    aggregate: Optional[Literal["count", "sum", "mean", "min", "max"]] = None,
    column: str = "",
    limit: int = 100,
) -> dict:
    """Filters, sorts, groups and sums rows of CSV or JSON data.

    Args:
        data: The data as text. CSV has a header line.
        format: What the text is.
        path: Where in the JSON the rows are, such as `result.items[0].rows`.
        where: Conditions every row must meet: a column's value, or an object of one of
            eq, ne, gt, gte, lt, lte, contains, in with the value to compare with.
        select: Columns to keep.
        order_by: Column to sort by.
        descending: Largest first.
        group_by: Column whose values form groups, for `aggregate`.
        aggregate: What to work out, over all rows or for each group.
        column: Column to aggregate; not needed to count.
        limit: Most rows to return.
    """
    if format == "csv":
        found: Any = list(csv.DictReader(io.StringIO(data.lstrip("\ufeff"))))
        for row in found:
            for key, text in row.items():
                if text == "":
                    row[key] = None
                elif isinstance(text, str) and re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", text):
                    row[key] = float(text) if "." in text else int(text)
    else:
        found = json.loads(data)
    for name, index in re.findall(r"([^.\[\]]+)|\[(-?\d+)\]", path):
        found = found[int(index)] if index else found[name]
    if not isinstance(found, list):
        return {"value": found}

    # Values of different kinds have no order: such a row does not meet the condition.
    def meets(row: dict, key: str, test: str, value: Any) -> bool:
        try:
            return compare[test](row.get(key), value)
        except TypeError:
            return False

    compare = {
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
        "gt": lambda a, b: a is not None and a > b,
        "gte": lambda a, b: a is not None and a >= b,
        "lt": lambda a, b: a is not None and a < b,
        "lte": lambda a, b: a is not None and a <= b,
        "contains": lambda a, b: a is not None and (b in a if isinstance(a, list) else str(b).lower() in str(a).lower()),
        "in": lambda a, b: a in b,
    }
    rows = [row if isinstance(row, dict) else {"value": row} for row in found]
    for key, condition in (where or {}).items():
        tests = condition if isinstance(condition, dict) else {"eq": condition}
        if set(tests) - set(compare):
            raise ValueError(f"{key}: a condition is one of {', '.join(compare)}")
        rows = [row for row in rows if all(meets(row, key, test, value) for test, value in tests.items())]

    if aggregate:
        groups: dict = {}
        for row in rows:
            groups.setdefault(row.get(group_by) if group_by else "all", []).append(row)
        work_out = {"sum": sum, "mean": lambda values: sum(values) / len(values), "min": min, "max": max}
        totals = []
        for key, members in groups.items():
            values = [row[column] for row in members if isinstance(row.get(column), (int, float))]
            amount = len(members) if aggregate == "count" else work_out[aggregate](values) if values else None
            totals.append({**({group_by: key} if group_by else {}), aggregate: amount})
        rows = totals
    if order_by:
        rows.sort(key=lambda row: (row.get(order_by) is None, isinstance(row.get(order_by), str), row.get(order_by) or 0), reverse=descending)
    if select:
        rows = [{key: row.get(key) for key in select} for row in rows]
    return {"rows": rows[: max(0, limit)], "count": len(rows)}
