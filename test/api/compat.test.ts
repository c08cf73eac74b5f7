import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, breaksOff, fails, hangs, says } from '../support/peers/model-server.ts';
import { openaiAt, refusal } from '../support/peers/openai.ts';

let here: TestInstallation;
let alice: OpenAI;
let bob: OpenAI;
beforeAll(async () => {
  here = await shareInstallation();
  alice = openaiAt(here.url, here.people.alice.token);
  bob = openaiAt(here.url, here.people.bob.token);
});
afterAll(() => here.stop());

const user = (content: string) => [{ role: 'user' as const, content }];

describe('chat completions', () => {
  it('are answered by a workflow, whose run is found by the id', async () => {
    const model = await here.workflow();
    here.model.script(says('Hello from the run.'));
    const completion = await alice.chat.completions.create({ model, messages: user('Hi') });
    expect(completion).toMatchObject({
      ...{ object: 'chat.completion', model, usage: { prompt_tokens: 10, completion_tokens: 5 } },
      choices: [{ message: { role: 'assistant', content: 'Hello from the run.' }, finish_reason: 'stop' }],
    });
    const task = await here.alice.ok(here.alice.get(`/api/tasks/${completion.id.replace('chatcmpl-', '')}`));
    expect(task).toMatchObject({ status: 'completed', trigger: 'api', prompt: 'Hi' });
    expect((await alice.chat.completions.retrieve(completion.id)).choices[0]?.message.content).toBe('Hello from the run.');
  });

  it('are answered by an agent by its name, with the conversation before', async () => {
    const workflow = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${workflow.agent_id}`));
    here.model.script(says('Four.'));
    const messages = [...user('Two?'), { role: 'assistant' as const, content: 'Two.' }, ...user('And two?')];
    expect((await alice.chat.completions.create({ model: name, messages })).choices[0]?.message.content).toBe('Four.');
    expect(here.model.requests.at(-1)?.messages.at(-1)?.content).toBe(
      '<message role="user">\nTwo?\n</message>\n<message role="assistant">\nTwo.\n</message>\n\nAnd two?',
    );
    const models = (await alice.models.list()).data.map(({ id }) => id);
    expect(models).toEqual(expect.arrayContaining([name, workflow.id]));
    const listed = (query: string) =>
      here.alice.ok(here.alice.get(`/api/workflows?q=${encodeURIComponent(`${name} (API)`)}${query}`));
    expect(await listed('')).toEqual([]);
    const made = (await listed('&single_use=true'))[0];
    expect(made).toMatchObject({ agent_id: workflow.agent_id, task_count: 1 });
    expect(models).not.toContain(made.id);
  });

  it('stream their complete text, even if the model breaks off in between', async () => {
    const model = await here.workflow();
    here.model.script(breaksOff('One tw'), says('One two three'));
    let text = '';
    let usage: unknown;
    const stream = await alice.chat.completions.create({
      model,
      messages: user('x'),
      stream: true,
      stream_options: { include_usage: true },
    });
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      usage = chunk.usage ?? usage;
    }
    expect(text).toBe('One two three');
    // The answer that broke off counts, too, by an estimate.
    expect(usage).toMatchObject({ completion_tokens: 7, total_tokens: 29 });
  });

  it('report failures in OpenAI’s format', async () => {
    here.model.script(fails(400, { message: 'bad thing' }));
    expect(await refusal(alice.chat.completions.create({ model: await here.workflow(), messages: user('x') }))).toMatchObject({
      ...{ status: 502, code: 'model_error', message: expect.stringContaining('bad thing') },
    });
    const model = await here.workflow();
    expect(await refusal(alice.chat.completions.create({ model: 'nobody', messages: user('x') }))).toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
    expect(await refusal(bob.chat.completions.create({ model, messages: user('x') }))).toMatchObject({ status: 403 });
    expect(await refusal(alice.chat.completions.create({ model, messages: [] }))).toMatchObject({ status: 422 });
    const image = [{ type: 'image_url' as const, image_url: { url: 'data:,' } }];
    expect(await refusal(alice.chat.completions.create({ model, messages: [{ role: 'user', content: image }] }))).toMatchObject({
      status: 400,
    });
    const stranger = openaiAt(here.url, 'nobody');
    expect(await refusal(stranger.models.list())).toMatchObject({ status: 401, type: 'authentication_error' });
  });
});

describe('times', () => {
  /** Every time in an answer, wherever it is. */
  function listTimes(value: unknown): unknown[] {
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) => (/^created$|_at$/.test(name) ? [inner] : listTimes(inner)));
  }
  const sql = (text: string, ...values: unknown[]) => here.core.database.pool.query(text, values);
  // Beginning, start and end differ, and a rounded second would be another one.
  const [CREATED, STARTED, ENDED] = ['2024-02-29T11:59:59.999Z', '2024-03-01T01:02:03.004Z', '2024-03-02T05:06:07.008Z'];
  const SECONDS = 1_709_207_999;
  const collect = async (stream: AsyncIterable<unknown>) => {
    const times: unknown[] = [];
    for await (const part of stream) times.push(...listTimes(part));
    return times;
  };

  it('of a run are seconds, and those at which it was created', async () => {
    const model = await here.workflow();
    here.model.script(says('One.'), says('Two.'));
    const completion = await alice.chat.completions.create({ model, messages: user('x') });
    const response = await alice.responses.create({ model, input: 'y' });
    for (const answer of [completion, response]) {
      const { created_at } = await here.alice.ok(here.alice.get(`/api/tasks/${answer.id.replace(/^(chatcmpl-|resp_)/, '')}`));
      expect(listTimes(answer)).toEqual([Math.floor(Date.parse(created_at) / 1_000)]);
    }
    await sql(
      'UPDATE tasks SET created_at = $1, started_at = $2, completed_at = $3 WHERE workflow_id = $4',
      CREATED,
      STARTED,
      ENDED,
      model,
    );
    expect(listTimes(await alice.chat.completions.retrieve(completion.id))).toEqual([SECONDS]);
    expect(listTimes(await alice.responses.retrieve(response.id))).toEqual([SECONDS]);
    const streamed = await collect(await alice.responses.retrieve(response.id, { stream: true }));
    expect(streamed).toEqual([SECONDS, SECONDS, SECONDS]);
  });

  it('of streamed completions are seconds, one time in each chunk', async () => {
    const model = await here.workflow();
    here.model.script(says('One two three'));
    const before = Math.floor(Date.now() / 1_000);
    const times = await collect(await alice.chat.completions.create({ model, messages: user('x'), stream: true }));
    expect(times.length).toBeGreaterThan(2);
    expect(new Set(times).size).toBe(1);
    expect(times[0]).toBeGreaterThanOrEqual(before);
    expect(times[0]).toBeLessThanOrEqual(Math.floor(Date.now() / 1_000));
  });

  it('of models and conversations are seconds, and those at which each was created', async () => {
    const id = await here.workflow();
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    await sql('UPDATE agents SET created_at = $1, updated_at = $2 WHERE id = $3', CREATED, ENDED, agent_id);
    await sql('UPDATE workflows SET created_at = $1, updated_at = $2 WHERE id = $3', STARTED, ENDED, id);
    const expected = { [name]: SECONDS, [id]: Math.floor(Date.parse(STARTED!) / 1_000) };
    const models = (await alice.models.list()).data;
    for (const [model, created] of Object.entries(expected)) {
      expect(listTimes(await alice.models.retrieve(model))).toEqual([created]);
      expect(models.find((listed) => listed.id === model)?.created).toBe(created);
    }
    const { id: conversation } = await alice.conversations.create({});
    await sql('UPDATE threads SET created_at = $1 WHERE id = $2', CREATED, conversation.replace('conv_', ''));
    expect(listTimes(await alice.conversations.retrieve(conversation))).toEqual([SECONDS]);
    expect(listTimes(await alice.conversations.update(conversation, { metadata: { topic: 'a' } }))).toEqual([SECONDS]);
  });
});

describe('responses', () => {
  it('are created, streamed, and resumed by id', async () => {
    const model = await here.workflow();
    here.model.script(says('Answer.'), says('Streamed answer.'));
    expect(await alice.responses.create({ model, input: 'x', instructions: 'Be kind.' })).toMatchObject({
      status: 'completed',
      output_text: 'Answer.',
    });
    let text = '';
    let id = '';
    for await (const event of await alice.responses.create({ model, input: 'y', stream: true })) {
      if (event.type === 'response.output_text.delta') text += event.delta;
      if (event.type === 'response.completed') id = event.response.id;
    }
    expect(text).toBe('Streamed answer.');
    expect((await alice.responses.retrieve(id)).output_text).toBe('Streamed answer.');
    let again = '';
    for await (const event of await alice.responses.retrieve(id, { stream: true, starting_after: 3 }))
      if (event.type === 'response.output_text.delta') again += event.delta;
    expect(again).toBe('Streamed answer.');
    expect(await refusal(bob.responses.retrieve(id))).toMatchObject({ status: 403 });
    expect(await refusal(alice.responses.retrieve('resp_nothing'))).toMatchObject({ status: 404 });
  });

  it('have their whole text in their last events, however long it is', async () => {
    const long = 'Long answer. '.repeat(6_000);
    here.model.script(says(long));
    const texts: string[] = [];
    for await (const event of await alice.responses.create({ model: await here.workflow(), input: 'x', stream: true })) {
      if (event.type === 'response.output_text.done') texts.push(event.text);
      if (event.type === 'response.completed') texts.push(event.response.output_text ?? '');
    }
    expect(texts[0] === long).toBe(true);
  });

  it('run in the background and can be cancelled', async () => {
    const asked = here.model.requests.length;
    here.model.script(hangs('Some'));
    const { id, status } = await alice.responses.create({ model: await here.workflow(), input: 'x', background: true });
    expect(status).toMatch(/queued|in_progress/);
    // An answer that is left over would be given to the next test.
    await expect.poll(() => here.model.requests.length).toBe(asked + 1);
    const completion = alice.chat.completions.retrieve(id.replace('resp_', 'chatcmpl-'));
    expect(await refusal(completion)).toMatchObject({ status: 409, code: 'in_progress' });
    expect(await alice.responses.cancel(id)).toMatchObject({ status: 'cancelled' });
    expect(await alice.responses.cancel(id)).toMatchObject({ status: 'cancelled' });
  });
});

describe('the MCP server', () => {
  const connected = async (token: string) => {
    const client = new Client({ name: 'test', version: '1' });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${here.url}/mcp`), { requestInit }) as never);
    return client;
  };

  it('lists every workflow of the caller as a tool, and reports the progress of a call', async () => {
    const workflow_id = await here.workflow({ workflow: { title: 'Sum it up!' }, tools: ['def f() -> int:\n    return 1\n'] });
    const client = await connected(here.people.alice.token);
    const { tools } = await client.listTools();
    const tool = tools.find(({ name }) => name === `Sum_it_up_${workflow_id.slice(-8)}`);
    const long = await here.workflow({ workflow: { title: `¿Ünïcode ${'très '.repeat(30)}long?` } });
    const named = (await client.listTools()).tools.map(({ name }) => name);
    expect(named.filter((name) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))).toEqual([]);
    expect(named.filter((name) => name.endsWith(long.slice(-8)))).toEqual([expect.stringMatching(/^U_?ni_?code_tre_?s_/)]);
    here.model.script(asks({ name: 'no-such' }), says('Summed.'));
    const progress: string[] = [];
    const onprogress = ({ message = '' }: { message?: string }) => void progress.push(message);
    const result = await client.callTool({ name: tool?.name ?? '', arguments: { prompt: 'Go' } }, undefined, { onprogress });
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'Summed.' }],
      structuredContent: { answer: 'Summed.', workflow_id },
    });
    expect(progress).toEqual(expect.arrayContaining(['Asking the model', 'Calling no-such']));
    expect(await client.callTool({ name: 'nothing', arguments: { prompt: 'x' } })).toMatchObject({ isError: true });
    await client.close();
  });

  it('returns the reason of a run that failed as the error of the call', async () => {
    const workflow_id = await here.workflow({ workflow: { title: 'Fails' } });
    const client = await connected(here.people.alice.token);
    here.model.script(fails(400, { message: 'bad thing' }));
    const result = await client.callTool({ name: `Fails_${workflow_id.slice(-8)}`, arguments: { prompt: 'Go' } });
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: expect.stringContaining('bad thing') }] });
    await client.close();
  });

  it('runs a call as a task, which another connection of its owner gets and nobody else', async () => {
    const workflow_id = await here.workflow({ workflow: { title: 'Long' } });
    const name = `Long_${workflow_id.slice(-8)}`;
    const start = async () => {
      const client = await connected(here.people.alice.token);
      const params = { name, arguments: { prompt: 'Go' } };
      const { task } = await client.request({ method: 'tools/call', params: { ...params, task: {} } }, CreateTaskResultSchema);
      await client.close();
      return task.taskId;
    };
    const client = await connected(here.people.alice.token);
    const other = await connected(here.people.bob.token);
    here.model.script(says('Done at last.'));
    const taskId = await start();
    expect(await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)).toMatchObject({
      structuredContent: { answer: 'Done at last.', task_id: taskId },
    });
    expect(await client.experimental.tasks.getTask(taskId)).toMatchObject({ taskId, status: 'completed' });
    await expect(client.experimental.tasks.cancelTask(taskId)).rejects.toThrow('already ended');
    const unknown = { method: 'tools/call' as const, params: { name: 'nothing', arguments: { prompt: 'x' }, task: {} } };
    await expect(client.request(unknown, CreateTaskResultSchema)).rejects.toThrow('There is no tool named nothing');
    here.model.script(hangs());
    const asked = here.model.requests.length;
    const hanging = await start();
    await expect.poll(() => here.model.requests.length).toBe(asked + 1);
    await expect(other.experimental.tasks.getTask(hanging)).rejects.toThrow('no task');
    await expect(other.experimental.tasks.getTaskResult(taskId, CallToolResultSchema)).rejects.toThrow('no task');
    await expect(other.experimental.tasks.cancelTask(hanging)).rejects.toThrow('no task');
    expect(await client.experimental.tasks.getTask(hanging)).toMatchObject({ status: 'working' });
    expect(await client.experimental.tasks.cancelTask(hanging)).toMatchObject({ status: 'cancelled' });
    await Promise.all([client.close(), other.close()]);
  });

  it('shows only the caller’s own, and nothing without a token', async () => {
    const client = await connected(here.people.bob.token);
    here.model.script(says('Hi.'));
    const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
    const { name } = await here.alice.ok(here.alice.get(`/api/agents/${agent_id}`));
    await here.bob.ok(here.bob.post('/v1/chat/completions', { model: name, messages: user('Hi') }));
    const workflows = (await here.alice.ok(here.alice.get('/api/workflows?limit=100'))) as unknown as { id: string }[];
    const suffixes = workflows.map(({ id }) => id.slice(-8));
    expect(suffixes.length).toBeGreaterThan(0);
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names.filter((tool) => suffixes.some((suffix) => tool.endsWith(suffix)))).toEqual([]);
    here.model.script(says('As an agent.'));
    const own = names.find((tool) => tool.endsWith(agent_id.slice(-8)))!;
    expect(await client.callTool({ name: own, arguments: { prompt: 'Go' } })).toMatchObject({
      structuredContent: { answer: 'As an agent.' },
    });
    await client.close();
    await expect(connected('nobody')).rejects.toThrow();
  });
});
