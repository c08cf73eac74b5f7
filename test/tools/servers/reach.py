"""An MCP server without dependencies, whose one tool says which arguments it has."""

import json
import sys


def answer(method, params):
    if method == "initialize":
        info = {"name": "reach", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": json.dumps(sys.argv[1:])}]}
    return None


def main():
    for line in sys.stdin:
        request = json.loads(line)
        result = answer(request["method"], request.get("params"))
        if result is not None:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
