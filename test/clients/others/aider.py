"""What users of aider type, with nothing changed but the base URL: a question, and a change of a file if the model writes one."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tries import run

base_url, token, model = os.environ["BASE_URL"], os.environ["ACCESS_TOKEN"], os.environ["MODEL"]
AIDER = [
    str(Path(sys.executable).parent / "aider"),
    *["--model", f"openai/{model}", "--openai-api-base", base_url, "--openai-api-key", token],
    *["--no-git", "--yes-always", "--no-pretty", "--no-check-update", "--analytics-disable", "--no-show-model-warnings"],
    *["--no-show-release-notes", "--map-tokens", "0"],
]
# The list of prices that aider would download.
PRICES = ".aider/caches/model_prices_and_context_window.json"


def ask(*options: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file, prices = Path(folder) / "hello.py", Path(folder) / PRICES
        file.write_text('print("hello")\n')
        prices.parent.mkdir(parents=True)
        prices.write_text('{"none": {}}')
        env = {**os.environ, "HOME": folder, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
        done = subprocess.run([*AIDER, *options, file.name], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
        _, _, said = done.stdout.partition("Added hello.py to the chat.")
        answer, paid, _ = said.partition("Tokens:")
        if done.returncode != 0 or not paid:
            raise RuntimeError(f"aider ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
        return f"{answer.strip()} → {file.read_text().strip()}"


TRIES = {
    "aider: question": lambda: ask("--no-stream", "--chat-mode", "ask", "--message", "Say something."),
    "aider: question, streamed": lambda: ask("--chat-mode", "ask", "--message", "Say something."),
    "aider: change of a file": lambda: ask("--edit-format", "whole", "--message", "Print goodbye instead."),
}

run(TRIES)
