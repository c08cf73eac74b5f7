"""What users of other clients write, with nothing changed but the base URL: LangChain, OpenAI's Agents SDK, LiteLLM."""

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from agents import Agent, Runner, set_default_openai_api, set_default_openai_client, set_tracing_disabled
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI

base_url, token, model = os.environ["BASE_URL"], os.environ["ACCESS_TOKEN"], os.environ["MODEL"]
PROMPT = "Say something."
chat = ChatOpenAI(model=model, api_key=token, base_url=base_url, max_retries=0)
set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(base_url=base_url, api_key=token, max_retries=0))
completion = {
    "model": f"openai/{model}",
    "api_base": base_url,
    "api_key": token,
    "messages": [{"role": "user", "content": PROMPT}],
    "num_retries": 0,
}


def with_api(api: str) -> str:
    set_default_openai_api(api)
    return Runner.run_sync(Agent(name="a", model=model, instructions="Be kind."), PROMPT).final_output


def streamed() -> str:
    chunks = litellm.completion(**completion, stream=True)
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


TRIES = {
    "LangChain: invoke": lambda: chat.invoke(PROMPT).content,
    "LangChain: stream": lambda: "".join(chunk.content for chunk in chat.stream(PROMPT)),
    "Agents SDK: responses": lambda: with_api("responses"),
    "Agents SDK: chat_completions": lambda: with_api("chat_completions"),
    "LiteLLM: completion": lambda: litellm.completion(**completion).choices[0].message.content,
    "LiteLLM: stream": streamed,
}

for name, work in TRIES.items():
    try:
        result = f"works    {work()!r}"
    except Exception as error:
        result = f"refused  {error}"
    print(f"{name:34}{result}", flush=True)
