"""What the API returns, as far as the methods of the clients use it. `/openapi.json` describes everything."""

from __future__ import annotations

from typing import Any, Literal, TypedDict, Union

TaskStatus = Literal["pending", "running", "waiting", "completed", "failed", "halted"]


class FieldError(TypedDict):
    path: str
    message: str


class PromptAccepted(TypedDict):
    task_id: str
    workflow_id: str
    status: str
    prompt: str
    created_at: str
    stream_url: str


class Usage(TypedDict):
    total_in: int
    total_out: int
    cost: float
    cache_read: int
    cache_write: int
    premium_requests: int


class Task(TypedDict):
    id: str
    workflow_id: str
    workflow_title: str | None
    agent_id: str
    agent_name: str
    model: str | None
    status: TaskStatus
    prompt: str
    trigger: str
    response: Any
    error: str | None
    error_code: str | None
    usage: Usage
    turns: int
    steps: int
    turn_limit_reached: bool
    truncated: bool
    elapsed_seconds: float | None
    created_at: str
    started_at: str | None
    completed_at: str | None


class ToolCall(TypedDict):
    call_id: str
    name: str
    arguments: str
    effect: Literal["read", "idempotent", "write"]
    status: str
    failed: bool | None
    result: str | None


class _Event(TypedDict):
    id: int | None
    timestamp: str


class LogData(TypedDict):
    event: str
    detail: str


class LogEvent(_Event):
    type: Literal["log"]
    data: LogData


class MessageData(TypedDict):
    role: str
    content: str


class MessageEvent(_Event):
    type: Literal["message"]
    data: MessageData


class DeltaData(TypedDict):
    delta: str


class DeltaEvent(_Event):
    type: Literal["message_delta"]
    data: DeltaData


class UsageEvent(_Event):
    type: Literal["usage"]
    data: Usage


class StatusData(TypedDict):
    status: str
    current_turn: int
    task_id: str


class StatusEvent(_Event):
    type: Literal["status"]
    data: StatusData


Event = Union[LogEvent, MessageEvent, DeltaEvent, UsageEvent, StatusEvent]
