"""An MCP server made with FastMCP, for any version: the transport, the port, and options such as stateless_http."""

import os
import sys

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.types import Image

PNG = b"\x89PNG\r\n\x1a\n...."
server = FastMCP("zoo")


@server.tool(annotations={"readOnlyHint": True})
def weather(cities: list[str]) -> list[dict[str, str]]:
    """Returns the weather of each city."""
    return [{"city": city, "sky": "snow"} for city in cities]


@server.tool(annotations={"readOnlyHint": True})
def temperature(city: str) -> int:
    return -5


@server.tool(annotations={"readOnlyHint": True})
def picture() -> Image:
    return Image(data=PNG, format="png")


@server.tool(annotations={"readOnlyHint": True})
def process() -> int:
    return os.getpid()


@server.tool
def refuse() -> str:
    raise ToolError("There is no such city.")


_, transport, *rest = sys.argv
if transport == "stdio":
    server.run(show_banner=False)
else:
    port, *options = rest
    where = {"host": "127.0.0.1", "port": int(port)}
    server.run(transport=transport, show_banner=False, **where, **{option: True for option in options})
