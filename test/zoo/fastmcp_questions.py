"""An MCP server made with FastMCP that asks a person during a call, at the port of its argument."""

import sys

from fastmcp import Context, FastMCP

server = FastMCP("questions")


@server.tool
async def book(ctx: Context) -> str:
    answer = await ctx.elicit("Which row?", response_type=int)
    return f"row {answer.data}" if answer.action == "accept" else answer.action


server.run(transport="http", host="127.0.0.1", port=int(sys.argv[1]), show_banner=False)
