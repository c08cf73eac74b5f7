"""An MCP server without dependencies, in a language whose integers have no limit. Its one tool returns the number after its argument."""

import json
import sys

SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}


def reply(method, params):
    if method == "initialize":
        server = {"name": "numbers", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [{"name": "following", "inputSchema": SCHEMA}]}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": str(params["arguments"]["id"] + 1)}]}
    return None


for line in sys.stdin:
    message = json.loads(line)
    result = reply(message["method"], message.get("params"))
    if result is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
