"""What users of other clients write, with nothing changed but the base URL: LangChain, OpenAI's Agents SDK, smolagents."""

import os

from agents import Agent, OpenAIConversationsSession, Runner, set_default_openai_api, set_default_openai_client, set_tracing_disabled
from langchain_openai import ChatOpenAI
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel
from smolagents import OpenAIServerModel, ToolCallingAgent
from tries import run

base_url, token, model = os.environ["BASE_URL"], os.environ["ACCESS_TOKEN"], os.environ["MODEL"]
PROMPT = "Say something."
chat = ChatOpenAI(model=model, api_key=token, base_url=base_url, max_retries=0)
set_tracing_disabled(True)
set_default_openai_client(AsyncOpenAI(base_url=base_url, api_key=token, max_retries=0))


class Answer(BaseModel):
    a: float


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = [
    {"type": "text", "text": PROMPT},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DOT}"}},
]


def with_api(api: str, output_type: type = str) -> object:
    set_default_openai_api(api)
    agent = Agent(name="a", model=model, instructions="Be kind.", output_type=output_type)
    return Runner.run_sync(agent, PROMPT).final_output


def in_conversation(by_session: bool) -> object:
    set_default_openai_api("responses")
    client = OpenAI(base_url=base_url, api_key=token, max_retries=0)
    id = client.conversations.create().id
    at = {"session": OpenAIConversationsSession(conversation_id=id)} if by_session else {"conversation_id": id}
    agent = Agent(name="a", model=model)
    for prompt in ["I am Ann.", "Who am I?"]:
        Runner.run_sync(agent, prompt, **at)
    return [item.role for item in client.conversations.items.list(id, order="asc").data]


smol = OpenAIServerModel(model_id=model, api_base=base_url, api_key=token, temperature=0.5)

TRIES = {
    "LangChain: invoke": lambda: chat.invoke(PROMPT).content,
    "LangChain: stream": lambda: "".join(chunk.content for chunk in chat.stream(PROMPT)),
    "LangChain: with_structured_output": lambda: chat.with_structured_output(Answer).invoke(PROMPT),
    "LangChain: tool_choice": lambda: chat.bind_tools([Answer], tool_choice="any").invoke(PROMPT).tool_calls,
    "LangChain: by function": lambda: chat.with_structured_output(Answer, method="function_calling").invoke(PROMPT),
    "LangChain: image": lambda: chat.invoke([{"role": "user", "content": IMAGE}]).content,
    "Agents SDK: responses": lambda: with_api("responses"),
    "Agents SDK: chat_completions": lambda: with_api("chat_completions"),
    "Agents SDK: output type": lambda: with_api("responses", Answer),
    "Agents SDK: conversation": lambda: in_conversation(by_session=False),
    "Agents SDK: session": lambda: in_conversation(by_session=True),
    "smolagents: model": lambda: smol([{"role": "user", "content": [{"type": "text", "text": PROMPT}]}], stop_sequences=["END"]).content,
    "smolagents: agent": lambda: ToolCallingAgent(tools=[], model=smol, max_steps=1).run(PROMPT),
}

run(TRIES)
