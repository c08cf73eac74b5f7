"""What a user of OpenAI's Python client does, with nothing changed but the base URL. Prints one JSON object."""

import json
import sys

from openai import APIStatusError, AuthenticationError, OpenAI

base_url, api_key, model = sys.argv[1:]
client = OpenAI(base_url=base_url, api_key=api_key, max_retries=0)
messages = [{"role": "user", "content": "Say something."}]
seen = {}

completion = client.chat.completions.create(model=model, messages=messages)
seen["completion"] = completion.choices[0].message.content
seen["completion_tokens"] = completion.usage.completion_tokens
seen["id"] = completion.id

chunks = client.chat.completions.create(model=model, messages=messages, stream=True)
pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
seen["streamed"] = ["".join(pieces), len(pieces) > 1]

response = client.responses.create(model=model, input="Say something.")
seen["response"] = [response.status, response.output_text]

with client.responses.stream(model=model, input="Say something.") as stream:
    deltas = [event.delta for event in stream if event.type == "response.output_text.delta"]
    seen["response_streamed"] = ["".join(deltas), len(deltas) > 1, stream.get_final_response().output_text]

seen["models"] = model in [listed.id for listed in client.models.list()]

try:
    client.chat.completions.create(model="nobody", messages=messages)
except APIStatusError as error:
    seen["unknown_model"] = [type(error).__name__, error.status_code, error.code]

try:
    OpenAI(base_url=base_url, api_key="wrong", max_retries=0).chat.completions.create(model=model, messages=messages)
except AuthenticationError as error:
    seen["wrong_token"] = [type(error).__name__, error.status_code]

print(json.dumps(seen))
