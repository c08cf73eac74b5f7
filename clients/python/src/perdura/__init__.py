"""Client of Perdura, the self-hosted platform for durable runs of AI agents."""

from ._async_client import AsyncClient
from ._client import Client
from ._errors import PerduraConnectionError, PerduraError
from ._types import Event, FieldError, PromptAccepted, Task, TaskStatus, ToolCall, Usage

__all__ = [
    "AsyncClient",
    "Client",
    "Event",
    "FieldError",
    "PerduraConnectionError",
    "PerduraError",
    "PromptAccepted",
    "Task",
    "TaskStatus",
    "ToolCall",
    "Usage",
]
