"""What both clients do alike: requests, when to repeat them, and where a stream resumes. Nothing here waits or sends."""

from __future__ import annotations

import json
import random
import re
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpx
from httpx_sse import ServerSentEvent

from ._errors import PerduraConnectionError, PerduraError
from ._types import Event, Task, ToolCall

TIMEOUT_S = 60.0
MAX_RETRIES = 4
# The service sends a byte every 15 seconds: a stream that is silent for longer is lost.
STREAM_TIMEOUT = httpx.Timeout(TIMEOUT_S, read=45.0)
# A longer wait is left to the caller.
_MOST_RETRY_AFTER_S = 60.0
_FIRST_DELAY_S = 0.5
_MOST_DELAY_S = 8.0


def settings_of(url: str, token: str) -> dict[str, Any]:
    """The arguments of the HTTP client."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise ValueError(f"The url of the installation must be like https://perdura.example, not {url!r}")
    return {"base_url": url.rstrip("/"), "headers": {"authorization": f"Bearer {token}"}, "timeout": TIMEOUT_S}


def path_of(template: str, **values: str) -> str:
    return template.format(**{name: quote(value, safe="") for name, value in values.items()})


def present(**values: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in values.items() if value is not None}


def delay_before(repeats: int, method: str, keyed: bool, error: Exception) -> float | None:
    """When to repeat a failed request; None if it must not be, or not so soon."""
    growing = min(_MOST_DELAY_S, _FIRST_DELAY_S * 2.0**repeats) * random.uniform(0.5, 1.0)
    repeatable = method in ("GET", "PUT") or keyed
    if isinstance(error, PerduraConnectionError):
        return growing if repeatable else None
    if not isinstance(error, PerduraError):
        return None
    if error.code == "idempotency_key_busy":
        return growing
    # Requests beyond a limit were not begun.
    if error.status != 429 and not (error.status == 503 and repeatable):
        return None
    if error.retry_after_seconds is None:
        return growing if error.status == 503 else None
    return error.retry_after_seconds if error.retry_after_seconds <= _MOST_RETRY_AFTER_S else None


def next_cursor(response: httpx.Response) -> str | None:
    """The cursor of the next page; None on the last one."""
    url = response.links.get("next", {}).get("url")
    return httpx.URL(url).params.get("cursor") if url else None


def lost(error: httpx.HTTPError) -> PerduraConnectionError:
    request = error.request.url if getattr(error, "_request", None) else "The service"
    return PerduraConnectionError(f"{request} did not answer: {error or type(error).__name__}")


def waiting_in(steps: list[dict[str, Any]]) -> list[ToolCall]:
    calls = [call for step in steps for call in step["tool_calls"]]
    return [call for call in calls if call["status"] == "waiting_approval"]


def is_terminal(status: str) -> bool:
    return status in ("completed", "failed", "halted")


class Following:
    """Where a followed run is."""

    def __init__(self, task: Task, after: int | None) -> None:
        self.path = path_of("/api/workflows/{id}/stream", id=task["workflow_id"])
        self.params = {"task_id": task["id"]}
        self._last = after
        self._terminal = False
        # Only a stream that was opened after the end has everything when it ends.
        self._had_ended = is_terminal(task["status"])
        self._delay = _FIRST_DELAY_S

    @property
    def headers(self) -> dict[str, str]:
        self._terminal = False
        return {} if self._last is None else {"last-event-id": str(self._last)}

    def saw(self, frame: ServerSentEvent) -> Event:
        event = cast(Event, {**json.loads(frame.data), "id": int(frame.id) if re.fullmatch(r"\d+", frame.id) else None})
        self._last = self._last if event["id"] is None else event["id"]
        self._delay = _FIRST_DELAY_S
        if event["type"] == "status" and is_terminal(event["data"]["status"]):
            self._terminal = True
        return event

    @property
    def is_complete(self) -> bool:
        """Whether a stream that has ended properly held everything."""
        return self._terminal or self._had_ended

    def found(self, task: Task) -> None:
        self._had_ended = is_terminal(task["status"])

    def delay_after(self, error: Exception | None) -> float:
        """How long to wait before the stream is opened again. Raises the error if that would not help."""
        if isinstance(error, PerduraError) and error.status not in (429, 502, 503, 504):
            raise error
        asked = (error.retry_after_seconds or 0.0) if isinstance(error, PerduraError) else 0.0
        delay, self._delay = max(self._delay, asked), min(2 * self._delay, 15.0)
        return delay
