from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import httpx

from ._types import FieldError


class PerduraError(Exception):
    """The API refused a request, or failed at it."""

    def __init__(self, response: httpx.Response) -> None:
        problem = _problem_in(response.text)
        self.status: int = response.status_code
        self.code: str = problem.get("code", "unknown")
        """A stable word, such as `not_found`."""
        self.detail: str = problem.get("detail", f"The service answered with status {self.status}")
        self.request_id: str | None = problem.get("request_id") or response.headers.get("x-request-id")
        """As in the log of the service."""
        self.errors: list[FieldError] = problem.get("errors", [])
        """What is wrong, field by field, if fields are not valid."""
        self.retry_after_seconds: float | None = _seconds_in(response.headers.get("retry-after"))
        request = f", request {self.request_id}" if self.request_id else ""
        super().__init__(f"{self.detail} ({self.status}{request})")


class PerduraConnectionError(Exception):
    """No answer came: the service cannot be reached, or the connection was lost."""


def _problem_in(text: str) -> dict[str, Any]:
    """A proxy in front of the service answers with other bodies."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _seconds_in(header: str | None) -> float | None:
    """Seconds, or a date."""
    if header is None:
        return None
    if header.isdecimal():
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None
