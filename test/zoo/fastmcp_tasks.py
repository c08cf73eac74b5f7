"""An MCP server made with FastMCP 2.14 or 3, with tools that are executed only as tasks, at the port of its argument."""

import asyncio
import sys

from fastmcp import Context, FastMCP
from fastmcp.server.tasks import TaskConfig

server = FastMCP("tasks")
ALONE = TaskConfig(mode="required")


@server.tool(task=ALONE)
async def report(topic: str) -> str:
    await asyncio.sleep(0.2)
    return f"All about {topic}."


@server.tool(task=ALONE)
async def refuse() -> str:
    raise ValueError("There is no such topic.")


@server.tool(task=TaskConfig(mode="optional"))
async def either() -> str:
    return "Either."


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
