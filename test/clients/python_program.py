"""What a user of the Python client writes: it follows a run with each client, and prints one line for each event."""

import asyncio
import json
import sys

from perdura import AsyncClient, Client, Event, PerduraError, Task, Usage


def show(event: Event, text: str) -> str:
    print(json.dumps(event), flush=True)
    if event["type"] == "message_delta":
        return text + event["data"]["delta"]
    return "" if event["type"] == "log" and event["data"]["event"] == "attempt_reset" else text


def lacks(task: Task) -> list[str]:
    """Fields that the types promise and the service does not send."""
    return sorted({*Task.__annotations__} - {*task} | {*Usage.__annotations__} - {*task["usage"]})


def follow(url: str, token: str, workflow_id: str) -> None:
    with Client(url, token) as client:
        task_id = client.runs.start(workflow_id, "Count to three.")["task_id"]
        text = ""
        for event in client.tasks.events(task_id):
            text = show(event, text)
        names = [agent["name"] for agent in client.items("/api/agents", params={"limit": 1})]
        refused: list[object] = []
        try:
            client.tasks.get("unknown")
        except PerduraError as error:
            refused = [error.code, error.status, error.request_id is not None]
        task = client.tasks.wait(task_id)
        print(json.dumps({"status": task["status"], "text": text, "names": names, "refused": refused, "lacks": lacks(task)}))


async def follow_async(url: str, token: str, workflow_id: str) -> None:
    async with AsyncClient(url, token) as client:
        task_id = (await client.runs.start(workflow_id, "Count to three."))["task_id"]
        text = ""
        async for event in client.tasks.events(task_id):
            text = show(event, text)
        names = [agent["name"] async for agent in client.items("/api/agents", params={"limit": 1})]
        refused: list[object] = []
        try:
            await client.tasks.get("unknown")
        except PerduraError as error:
            refused = [error.code, error.status, error.request_id is not None]
        task = await client.tasks.wait(task_id)
        print(json.dumps({"status": task["status"], "text": text, "names": names, "refused": refused, "lacks": lacks(task)}))


if __name__ == "__main__":
    kind, *place = sys.argv[1:]
    if kind == "sync":
        follow(*place)
    else:
        asyncio.run(follow_async(*place))
