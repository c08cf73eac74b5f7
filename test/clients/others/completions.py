"""What users of LiteLLM and LlamaIndex write, with nothing changed but the base URL. They need an older client of OpenAI than the others."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel
from tries import run

base_url, token, model = os.environ["BASE_URL"], os.environ["ACCESS_TOKEN"], os.environ["MODEL"]
PROMPT = "Say something."
llama = OpenAILike(model=model, api_base=base_url, api_key=token, is_chat_model=True, max_retries=0)
completion = {
    "model": f"openai/{model}",
    "api_base": base_url,
    "api_key": token,
    "messages": [{"role": "user", "content": PROMPT}],
    "num_retries": 0,
}


class Answer(BaseModel):
    a: float


FUNCTION = {"type": "function", "function": {"name": "Answer", "parameters": Answer.model_json_schema()}}


def streamed() -> str:
    chunks = litellm.completion(**completion, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


TRIES = {
    "LlamaIndex: complete": lambda: llama.complete(PROMPT).text,
    "LlamaIndex: stream": lambda: [chunk.text for chunk in llama.stream_complete(PROMPT)][-1],
    "LiteLLM: as aider asks": lambda: litellm.completion(**completion, temperature=0, stream=False, max_tokens=100).choices[0].message.content,
    "LiteLLM: completion": lambda: litellm.completion(**completion).choices[0].message.content,
    "LiteLLM: stream": streamed,
    "LiteLLM: tool_choice": lambda: litellm.completion(**completion, tools=[FUNCTION], tool_choice="required")
    .choices[0]
    .message.tool_calls,
    "LiteLLM: response_format": lambda: litellm.completion(**completion, response_format=Answer).choices[0].message.content,
}

run(TRIES)
