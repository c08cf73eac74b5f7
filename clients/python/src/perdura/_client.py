from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from types import TracebackType
from typing import Any, cast

import httpx
from httpx_sse import EventSource

from . import _rules as rules
from ._errors import PerduraConnectionError, PerduraError
from ._types import Event, PromptAccepted, Task, ToolCall


class Client:
    """A client of one installation, in the name of the person whose access token it has."""

    def __init__(self, url: str, token: str, *, max_retries: int = rules.MAX_RETRIES, http: httpx.Client | None = None) -> None:
        settings = rules.settings_of(url, token)
        self._http = http or httpx.Client(**settings)
        if http:
            self._http.base_url = settings["base_url"]
            self._http.headers.update(settings["headers"])
        self._max_retries = max_retries
        self.runs = Runs(self)
        self.tasks = Tasks(self)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: dict[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> Any:
        """Any operation of the API. With an idempotency key, for operations that take one, it is also repeated after a lost answer."""
        response = self._send(method, path, json=json, params=params, idempotency_key=idempotency_key)
        return response.json() if response.content else None

    def items(self, path: str, *, params: dict[str, Any] | None = None) -> Iterator[Any]:
        """The items of a list, page after page."""
        cursor: str | None = None
        while True:
            response = self._send("GET", path, params={**(params or {}), **rules.present(cursor=cursor)})
            yield from response.json()
            cursor = rules.next_cursor(response)
            if cursor is None:
                return

    def _send(self, method: str, path: str, *, json: Any = None, params: Any = None, idempotency_key: str | None = None) -> httpx.Response:
        headers = rules.present(**{"idempotency-key": idempotency_key})
        repeats = 0
        while True:
            try:
                response = self._http.request(method, path, json=json, params=params, headers=headers)
                if response.is_success:
                    return response
                raise PerduraError(response)
            except (httpx.TransportError, PerduraError) as error:
                failure = error if isinstance(error, PerduraError) else rules.lost(error)
                delay = rules.delay_before(repeats, method, bool(idempotency_key), failure)
                if delay is None or repeats >= self._max_retries:
                    raise failure from error
            time.sleep(delay)
            repeats += 1

    def _frames(self, following: rules.Following) -> Iterator[Event]:
        """The events of one connection."""
        try:
            with self._http.stream(
                "GET", following.path, params=following.params, headers=following.headers, timeout=rules.STREAM_TIMEOUT
            ) as response:
                if not response.is_success:
                    response.read()
                    raise PerduraError(response)
                if response.status_code == 204:
                    return
                for frame in EventSource(response).iter_sse():
                    yield following.saw(frame)
        except httpx.TransportError as error:
            raise rules.lost(error) from error


class Runs:
    def __init__(self, client: Client) -> None:
        self._client = client

    def start(
        self,
        workflow_id: str,
        prompt: str,
        *,
        reasoning_effort: str | None = None,
        on_busy: str | None = None,
        idempotency_key: str | None = None,
    ) -> PromptAccepted:
        """Starts a run of a workflow; it continues whether or not anybody follows it."""
        body = {"prompt": prompt, **rules.present(reasoning_effort=reasoning_effort, on_busy=on_busy)}
        path = rules.path_of("/api/workflows/{id}/prompt", id=workflow_id)
        reply = self._client.request("POST", path, json=body, idempotency_key=idempotency_key or str(uuid.uuid4()))
        return cast(PromptAccepted, reply)


class Tasks:
    def __init__(self, client: Client) -> None:
        self._client = client

    def get(self, task_id: str, *, include: str = "messages,logs") -> Task:
        path = rules.path_of("/api/tasks/{id}", id=task_id)
        return cast(Task, self._client.request("GET", path, params={"include": include}))

    def events(self, task_id: str, *, after: int | None = None) -> Iterator[Event]:
        """The events of a run until it has ended. A lost connection is opened again where it broke off."""
        following = rules.Following(self.get(task_id, include=""), after)
        while True:
            failure: Exception | None = None
            try:
                yield from self._client._frames(following)
                if following.is_complete:
                    return
                following.found(self.get(task_id, include=""))
                if following.is_complete:
                    continue
            except (PerduraError, PerduraConnectionError) as error:
                failure = error
            time.sleep(following.delay_after(failure))

    def wait(self, task_id: str) -> Task:
        """Waits until a run has ended, and returns it. A failed run is returned like a completed one."""
        for _ in self.events(task_id):
            pass
        return self.get(task_id)

    def stop(self, task_id: str) -> None:
        """Asks a run to stop; it ends within seconds."""
        self._client.request("POST", rules.path_of("/api/tasks/{id}/stop", id=task_id))

    def waiting_calls(self, task_id: str) -> list[ToolCall]:
        """Calls of a run that wait for approval."""
        return rules.waiting_in(self._client.request("GET", rules.path_of("/api/tasks/{id}/steps", id=task_id)))

    def approve(self, task_id: str, call_id: str, *, message: str | None = None) -> Task:
        return self._decide(task_id, call_id, "approve", message)

    def deny(self, task_id: str, call_id: str, *, message: str | None = None) -> Task:
        return self._decide(task_id, call_id, "deny", message)

    def _decide(self, task_id: str, call_id: str, decision: str, message: str | None) -> Task:
        path = rules.path_of("/api/tasks/{id}/approvals/{call_id}", id=task_id, call_id=call_id)
        body = {"decision": decision, **rules.present(message=message)}
        return cast(Task, self._client.request("POST", path, json=body))
