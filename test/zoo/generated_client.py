"""
Uses a client that openapi-python-client has generated: its folder, the address of the installation, a token, a provider. Prints what
a person would have seen.
"""

import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path

_, folder, base_url, token, provider_id = sys.argv
sys.path.insert(0, str(Path(folder).parent))
package = importlib.import_module(Path(folder).name)
modules = [importlib.import_module(module.name) for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]


def find(name: str):
    return next(module for module in modules if module.__name__.split(".")[-1] == name)


models = importlib.import_module(f"{package.__name__}.models")
client = package.AuthenticatedClient(base_url=base_url, token=token, raise_on_unexpected_status=True)


def ask(operation: str, *ids: str, body=None):
    values = {"client": client, **({} if body is None else {"body": body})}
    return find(operation).sync(*ids, **values)


agent = ask("create_agent", body=models.AgentCreate(name="generated", provider_id=provider_id))
workflow = ask("create_workflow", body=models.WorkflowCreate(agent_id=agent.id, output_format=models.WorkflowCreateOutputFormat.MARKDOWN))
started = ask("prompt_workflow", workflow.id, body=models.PromptRequest(prompt="Say something."))
for _ in range(200):
    task = ask("get_task", started.task_id)
    if task.status in ("completed", "failed", "halted"):
        break
    time.sleep(0.1)
missing = ask("get_task", "01890000-0000-7000-8000-000000000000")
print(
    json.dumps(
        {
            "modules": len(modules),
            "status": task.status,
            "response": task.response,
            "logs": [log.event for log in task.logs],
            "roles": [message.role for message in task.messages],
            "workflow": ask("get_workflow", workflow.id).id == workflow.id,
            "missing": type(missing).__name__,
        }
    )
)
