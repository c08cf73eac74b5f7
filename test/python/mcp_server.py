"""An MCP server made with the Python SDK, over the transport and at the port of its arguments."""

import os
import sys
from typing import Annotated

from mcp.server.mcpserver import Elicit, Image, MCPServer, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel

PNG = b"\x89PNG\r\n\x1a\n...."

server = MCPServer("fast")


@server.tool()
def number() -> int:
    return 5


@server.tool()
def names() -> list[str]:
    return ["a", "b"]


@server.tool()
def rows() -> list[dict[str, int]]:
    return [{"a": 1}, {"a": 2}]


@server.tool()
def picture() -> Image:
    return Image(data=PNG, format="png")


@server.tool()
def wrong(count: int) -> int:
    return count


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def read_and_die() -> str:
    os._exit(3)


@server.tool()
def write_and_die() -> str:
    os._exit(3)


class Seat(BaseModel):
    row: int


async def ask_seat() -> Elicit[Seat]:
    return Elicit("Which row?", Seat)


@server.tool()
def book(seat: Annotated[Seat, Resolve(ask_seat)]) -> str:
    return f"row {seat.row}"


_, transport, port, *options = sys.argv
settings = {} if transport == "sse" else {option: True for option in options}
server.run(transport=transport, host="127.0.0.1", port=int(port), **settings)
