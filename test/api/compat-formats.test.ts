import type OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let openai: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  openai = openaiAt(here.url, here.people.alice.token);
});
afterAll(() => here.stop());

const messages = [{ role: 'user' as const, content: 'What is 17 + 25?' }];
const Sum = z.object({ sum: z.int() });
const SCHEMA = { type: 'object', properties: { sum: { type: 'integer' } }, required: ['sum'] };
const FORMAT = { type: 'json_schema' as const, json_schema: { name: 'sum', schema: SCHEMA } };
const tasksOf = async (workflow_id: string) =>
  (await here.alice.ok(here.alice.get(`/api/tasks?workflow_id=${workflow_id}`))) as unknown as { id: string }[];

describe('an answer in a format', () => {
  it('is parsed by the client from a completion, after a repair', async () => {
    const model = await here.workflow();
    here.model.script(says('It is 42.'), says('{"sum": 42}'));
    const parsed = await openai.chat.completions.parse({ model, messages, response_format: zodResponseFormat(Sum, 'sum') });
    expect(parsed.choices[0]?.message.parsed).toEqual({ sum: 42 });
    expect(here.model.requests.at(-1)?.response_format).toMatchObject({ type: 'json_schema' });
  });

  it('is parsed from a response, which keeps it for later readers', async () => {
    const model = await here.workflow();
    here.model.script(says('{"sum": 42}'));
    const parsed = await openai.responses.parse({ model, input: 'x', text: { format: zodTextFormat(Sum, 'sum') } });
    expect(parsed.output_parsed).toEqual({ sum: 42 });
    expect((await openai.responses.retrieve(parsed.id)).output_text).toBe('{"sum":42}');
  });

  it('can be any JSON object', async () => {
    const model = await here.workflow();
    here.model.script(says('[1]'), says('{"a": 1}'));
    const { choices } = await openai.chat.completions.create({ model, messages, response_format: { type: 'json_object' } });
    expect(choices[0]?.message.content).toBe('{"a":1}');
    expect(here.model.requests.at(-1)?.response_format).toEqual({ type: 'json_object' });
  });

  it('is streamed alone: neither the text before it nor the answer that was rejected', async () => {
    const model = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    const script = () =>
      here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }), says('It is 42.'), says('{"sum": 42}'));
    script();
    let text = '';
    for await (const chunk of await openai.chat.completions.create({ model, messages, response_format: FORMAT, stream: true }))
      text += chunk.choices[0]?.delta.content ?? '';
    expect(text).toBe('{"sum":42}');
    script();
    let streamed = '';
    let id = '';
    const format = { type: 'json_schema' as const, name: 'sum', schema: SCHEMA };
    for await (const event of await openai.responses.create({ model, input: 'x', text: { format }, stream: true })) {
      if (event.type === 'response.output_text.delta') streamed += event.delta;
      if (event.type === 'response.completed') id = event.response.id;
    }
    expect(streamed).toBe('{"sum":42}');
    let again = '';
    for await (const event of await openai.responses.retrieve(id, { stream: true, starting_after: 3 }))
      if (event.type === 'response.output_text.delta') again += event.delta;
    expect(again).toBe('{"sum":42}');
  });

  it('fails the run if the second one does not fit either, in a stream too', async () => {
    const model = await here.workflow();
    here.model.script(says('No.'), says('No.'), says('No.'), says('No.'));
    const failed = await refusal(openai.chat.completions.create({ model, messages, response_format: FORMAT }));
    expect(failed).toMatchObject({ status: 502, code: 'output_invalid', message: expect.stringContaining('not one JSON value') });
    expect(failed?.headers?.get('x-should-retry')).toBe('false');
    const stream = await openai.chat.completions.create({ model, messages, response_format: FORMAT, stream: true });
    const texts: unknown[] = [];
    const read = async () => {
      for await (const chunk of stream) texts.push(chunk.choices[0]?.delta.content);
    };
    expect(await refusal(read())).toMatchObject({ code: 'output_invalid' });
    expect(texts.filter(Boolean)).toEqual([]);
  });

  it('belongs to its request alone: the workflow and its versions stay as they were', async () => {
    const model = await here.workflow();
    here.model.script(says('{"sum": 42}'), says('Forty-two.'));
    await openai.chat.completions.create({ model, messages, response_format: FORMAT });
    expect((await openai.chat.completions.create({ model, messages })).choices[0]?.message.content).toBe('Forty-two.');
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${model}`))).toMatchObject({ output_schema: null });
    expect(await here.alice.ok(here.alice.get(`/api/workflows/${model}/versions`))).toHaveLength(1);
  });

  it.each<[string, string, object]>([
    [
      'a schema that is none',
      'invalid_json_schema',
      { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'objet' } } },
    ],
    ['no schema', 'invalid_json_schema', { type: 'json_schema', json_schema: { name: 'x' } }],
    ['another root than an object', 'invalid_json_schema', { type: 'json_schema', json_schema: { schema: { type: 'array' } } }],
    ['another type', 'unsupported_value', { type: 'grammar', grammar: 'x' }],
  ])('is refused with %s, and no run starts', async (_, code, response_format) => {
    const model = await here.workflow();
    const refused = await refusal(openai.chat.completions.create({ model, messages, response_format } as never));
    expect(refused).toMatchObject({ status: 400, code, param: 'response_format', type: 'invalid_request_error' });
    expect(await tasksOf(model)).toEqual([]);
  });

  it('is asked for together with a verbosity, which the run takes, and refused if the request is strict', async () => {
    const model = await here.workflow();
    const asked = { model, input: 'x', text: { format: { type: 'text' as const }, verbosity: 'high' as const } };
    here.model.script(says('Yes.'));
    const response = await openai.responses.create(asked);
    expect(response).toMatchObject({ output_text: 'Yes.' });
    expect(response).not.toHaveProperty('warnings');
    const strictly = { headers: { prefer: 'handling=strict' } };
    expect(await refusal(openai.responses.create(asked, strictly))).toMatchObject({ status: 400, param: 'verbosity' });
  });
});
