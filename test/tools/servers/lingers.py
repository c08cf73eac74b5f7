"""An MCP server without dependencies. Its argument names what it does in addition to answering."""

import json
import os
import signal
import subprocess
import sys
import time

HOW = sys.argv[1]


def answer(method, params):
    if method == "initialize":
        if HOW == "is silent":
            time.sleep(600)
        info = {"name": "lingers", "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}
    if method == "tools/call":
        if HOW == "ends during a call":
            sys.exit(3)
        if HOW == "is killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if HOW == "hangs during a call":
            time.sleep(600)
        return {"content": [{"type": "text", "text": "called"}]}
    return None


if HOW == "ends at its start":
    sys.exit(4)
if HOW == "leaves a daemon":
    subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL)
if HOW == "hangs at shutdown":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    request = json.loads(line)
    result = answer(request["method"], request.get("params"))
    if result is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
if HOW == "hangs at shutdown":
    time.sleep(600)
