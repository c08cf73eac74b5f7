"""Calls a tool of an MCP server with the Python SDK's client, in the mode of its arguments, and prints what it got as JSON."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


async def main(mode: str, url: str, name: str) -> None:
    headers = {"authorization": f"Bearer {os.environ['TOKEN']}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http, Client(
        streamable_http_client(url, http_client=http), mode=mode
    ) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool(name, {"prompt": "Go"})
        answer = (result.structured_content or {}).get("answer")
        print(json.dumps({"version": client.protocol_version, "listed": name in names, "answer": answer}))


asyncio.run(main(*sys.argv[1:]))
