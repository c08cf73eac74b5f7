import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSignIns } from '../../src/api/sign-in/sign-in.ts';
import type { Client, Reply } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Answer, asks, fails, hangs, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

const ENV = {
  RUNNING_TASKS_PER_PRINCIPAL: '2',
  STREAMS_PER_PRINCIPAL: '2',
  STORED_BYTES_PER_PRINCIPAL: '60000',
  UPLOADS_PER_PRINCIPAL: '1',
  UPLOADS_IN_PROGRESS: '2',
  WORKSPACE_MB: '1',
  WORKSPACE_FILES: '20',
  REQUEST_SECONDS: '3',
  SIGN_IN_FAILURES_PER_MINUTE: '3',
  JSON_VALUES: '2000',
  GUARDRAIL_PATTERNS: '2',
  GUARDRAIL_PATTERN_CHARACTERS: '10',
  GUARDRAIL_SCHEMA_CHARACTERS: '100',
};

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ env: ENV });
});
afterAll(() => here.stop());

let made = 0;
const name = () => `limited ${++made}`;
const skill = (client: Client, bytes: number) => client.post('/api/skills', { name: name(), instructions: 'x'.repeat(bytes) });
const guardrail = (guardrail_type: string, config: object) =>
  here.alice.post('/api/guardrails', { name: name(), guardrail_type, config });

/** A request whose body never ends: the server's answer, and a way to end the request. */
function halfSent(head: string, token = ALICE) {
  const { hostname, port } = new URL(here.url);
  const socket = connect(Number(port), hostname);
  let said = '';
  socket
    .setEncoding('utf8')
    .on('data', (text) => (said += text))
    .on('error', () => {});
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(said)));
  socket.write(`${head}\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n`);
  return { socket, closed };
}
const UPLOAD = 'content-type: multipart/form-data; boundary=b\r\ncontent-length: 5000\r\n\r\n--b\r\n';

const EMPTY = { version: '1.0', resource_type: 'skill', items: [] };

interface Limit {
  status: number;
  code: string;
  setting: string;
  /** Goes up to the limit and past it; the refusal, and what ends it all. */
  pass(client: Client): Promise<{ refusal: Reply; end(): Promise<unknown> | unknown }>;
  /** The same, once, for someone else. */
  other(client: Client): Promise<number>;
}

const LIMITS: Record<string, Limit> = {
  'stored bytes': {
    ...{ status: 413, code: 'stored_bytes_limit', setting: 'STORED_BYTES_PER_PRINCIPAL' },
    async pass(client) {
      const kept = await client.ok(skill(client, 50_000), 201);
      const refusal = await skill(client, 20_000);
      return { refusal, end: () => client.del(`/api/skills/${kept.id}`) };
    },
    other: async (client) => (await skill(client, 20_000)).status,
  },
  'running tasks': {
    ...{ status: 429, code: 'running_tasks_limit', setting: 'RUNNING_TASKS_PER_PRINCIPAL' },
    async pass(client) {
      const asked = here.model.requests.length;
      here.model.script(hangs('one'), hangs('two'));
      const workflows = [await here.workflow(), await here.workflow(), await here.workflow(), await here.workflow()];
      const replies = await Promise.all(workflows.map((id) => client.post(`/api/workflows/${id}/prompt`, { prompt: 'go' })));
      const tasks = replies.filter(({ status }) => status === 201);
      expect(tasks).toHaveLength(2);
      // What a halt comes before leaves its answer to the next test.
      await until('both wait for the model', async () => here.model.requests.length >= asked + 2);
      const end = async () => {
        for (const { body } of tasks) await client.post(`/api/workflows/${body.workflow_id}/halt`);
        for (const { body } of tasks) await here.ended(body.task_id);
      };
      return { refusal: replies.find(({ status }) => status !== 201)!, end };
    },
    async other(client) {
      const agent_id = (await client.ok(client.post('/api/agents', { name: name() }), 201)).id;
      const { id } = await client.ok(client.post('/api/workflows', { agent_id }), 201);
      const { status, body } = await client.post(`/api/workflows/${id}/prompt`, { prompt: 'go' });
      // A run that kept running would consume the answers scripted for the next test.
      const task = () => client.ok(client.get(`/api/tasks/${body.task_id}`));
      if (status === 201) await until('its end', async () => (await task()).completed_at !== null);
      return status;
    },
  },
  'open streams': {
    ...{ status: 429, code: 'streams_limit', setting: 'STREAMS_PER_PRINCIPAL' },
    async pass(client) {
      const id = await here.workflow();
      const gone = new AbortController();
      const open = () =>
        fetch(`${here.url}/api/workflows/${id}/stream`, { headers: { authorization: `Bearer ${ALICE}` }, signal: gone.signal });
      await Promise.all([open(), open()]);
      return { refusal: await client.get(`/api/workflows/${id}/stream`), end: () => gone.abort() };
    },
    async other(client) {
      const agent_id = (await client.ok(client.post('/api/agents', { name: name() }), 201)).id;
      const { id } = await client.ok(client.post('/api/workflows', { agent_id }), 201);
      return client.events(`/api/workflows/${id}/stream`, { timeout_ms: 300 }).then(
        () => 200,
        (error: Error) => (/answered/.test(error.message) ? 429 : 200),
      );
    },
  },
  'uploads in progress': {
    ...{ status: 429, code: 'uploads_limit', setting: 'UPLOADS_PER_PRINCIPAL' },
    async pass(client) {
      // An import takes a place as well: one that comes before the slow upload has the only one, and the upload is refused.
      const { slow, refusal } = await until('the refusal', async () => {
        const upload = halfSent('POST /api/knowledge-items/upload HTTP/1.1');
        upload.socket.write(UPLOAD);
        await wait(200);
        const reply = await client.post('/api/skills/import', EMPTY);
        if (reply.status >= 400) return { slow: upload, refusal: reply };
        upload.socket.destroy();
        return null;
      });
      const end = async () => {
        slow.socket.destroy();
        // The service notices the end a moment later; the next upload would be the one that is refused.
        await until('the upload is over', async () => (await client.post('/api/skills/import', EMPTY)).status < 300);
      };
      return { refusal, end };
    },
    other: async (client) => (await client.post('/api/skills/import', EMPTY)).status,
  },
};

describe.each(Object.entries(LIMITS))('a limit of %s', (_what, limit) => {
  it('names itself and its setting, leaves others alone, and ends with what it counts', async () => {
    const { refusal, end } = await limit.pass(here.alice);
    try {
      expect(refusal).toMatchObject({ status: limit.status, body: { code: limit.code } });
      expect(refusal.body.detail).toContain(limit.setting);
      if (limit.status === 429) expect(Number(refusal.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await limit.other(here.bob)).toBeLessThan(300);
    } finally {
      await end();
    }
    const again = await (async () => {
      const { end: endAgain } = await limit.pass(here.alice);
      await endAgain();
      return true;
    })();
    expect(again).toBe(true);
  });
});

describe('at the limit of running tasks, a message', () => {
  it('that its run has not read begins its turn in the place of that run, and counts from then on', async () => {
    const { alice, model } = here;
    const [failing, answering] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const held =
      (released: Promise<void>, answer: Answer): Answer =>
      async (...asked) => {
        await released;
        return answer(...asked);
      };
    const asked = model.requests.length;
    const isAsked = (more: number) => until('the model is asked', async () => model.requests.length === asked + more);
    model.script(held(failing.promise, fails(401)), hangs('two'), held(answering.promise, says('Then five.')));
    const [chatting, other] = [await here.workflow({ workflow: { remember: 'thread' } }), await here.workflow()];
    const prompt = (id: string) => alice.post(`/api/workflows/${id}/prompt`, { prompt: 'go' });
    const { body: turn } = await prompt(chatting);
    await isAsked(1);
    const second = await alice.ok(prompt(other), 201);
    await isAsked(2);
    const refused = { status: 429, body: { code: 'running_tasks_limit' } };
    const path = `/api/threads/${turn.thread_id}/messages`;
    expect(await prompt(await here.workflow())).toMatchObject(refused);
    expect(await alice.post(path, { message: 'Later.' })).toMatchObject(refused);
    const message = await alice.ok(alice.post(path, { message: 'And then?', when_busy: 'steer' }), 202);
    failing.resolve();
    expect(await here.ended(turn.task_id)).toMatchObject({ status: 'failed' });
    await isAsked(3);
    expect(await alice.ok(alice.get(`${path}/${message.id}`))).toMatchObject({ state: 'started', task_id: message.id });
    expect(await prompt(await here.workflow())).toMatchObject(refused);
    answering.resolve();
    expect(await here.ended(message.id)).toMatchObject({ status: 'completed', response: 'Then five.' });
    model.script(hangs('three'));
    const { task_id } = await alice.ok(prompt(chatting), 201);
    await isAsked(4);
    for (const id of [task_id, second.task_id]) {
      await alice.post(`/api/tasks/${id}/stop`);
      await here.ended(id);
    }
  });
});

describe('the JSON of a request', () => {
  const sent = (path: string, items: string) => here.alice.send('POST', path, { body: `{"items":[${items}]}` });
  it.each(['/api/skills', '/api/skills/import', '/v1/chat/completions', '/mcp'])(
    'holds no more values than are allowed: %s',
    async (path) => {
      const { status, body } = await sent(path, '{"a":"[,,"},'.repeat(1_200));
      // Each interface has its own error format.
      expect({ status, said: JSON.stringify(body) }).toEqual({ status: 413, said: expect.stringContaining('JSON_VALUES') });
      // Brackets and commas inside strings, also after `\"`, do not count as values.
      expect((await sent(path, `"${'[,\\"'.repeat(2_000)}"`)).status).not.toBe(413);
    },
  );
  it('is not nested too deep', async () => {
    expect((await sent('/api/skills', `${'['.repeat(1_001)}${']'.repeat(1_001)}`)).body.code).toBe('json_depth_limit');
  });
  it('has no schema of a tool that is too long', async () => {
    const values = { name: 'f', source_code: 'def f(): ...', parameters_schema: { title: 'x'.repeat(64_000) } };
    const { status, body } = await here.alice.post('/api/custom-tools', values);
    expect({ status, errors: body.errors }).toEqual({
      status: 422,
      errors: [{ path: 'parameters_schema', message: expect.stringContaining('64000 characters') }],
    });
  });
});

describe('what a guardrail may hold', () => {
  it.each([
    [
      'prompt',
      { forbidden_patterns: ['a', 'b'], required_patterns: ['c', 'd'] },
      { forbidden_patterns: ['a', 'b', 'c'] },
      ...['forbidden_patterns', 'GUARDRAIL_PATTERNS'],
    ],
    [
      'output',
      { required_patterns: ['a'.repeat(10)] },
      { required_patterns: ['b', 'a'.repeat(11)] },
      ...['required_patterns.1', 'GUARDRAIL_PATTERN_CHARACTERS'],
    ],
    [
      'request',
      { json_schema: { title: 'x'.repeat(88) } },
      { json_schema: { title: 'x'.repeat(89) } },
      ...['json_schema', 'GUARDRAIL_SCHEMA_CHARACTERS'],
    ],
  ] as [string, object, object, string, string][])(
    'is limited: %s, with %j allowed',
    async (type, allowed, config, path, setting) => {
      expect((await guardrail(type, allowed)).status).toBe(201);
      const { status, body } = await guardrail(type, config);
      expect({ status, errors: body.errors }).toEqual({
        status: 422,
        errors: [{ path: `config.${path}`, message: expect.stringContaining(setting) }],
      });
    },
  );
});

describe('a workspace', () => {
  it.each([
    ['files', 'for i in $(seq 30); do echo x > f$i; done', 'WORKSPACE_FILES'],
    ['bytes', 'head -c 3000000 /dev/urandom > big', 'WORKSPACE_MB'],
  ])('takes so many %s and no more writes after that', async (_what, command, setting) => {
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash', 'write', 'glob'] } });
    here.model.script(
      asks({ name: 'bash', args: { command } }),
      asks({ name: 'write', args: { file_path: 'more.txt', content: 'x' } }, { name: 'glob', args: { pattern: '*' } }),
      says('done'),
    );
    const { id } = await here.ended(await here.prompt(workflow_id));
    const messages = (await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`))).messages as {
      role: string;
      content: string;
    }[];
    const [filled, written, listed] = messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(filled, id).toContain(setting);
    expect(written).toContain(setting);
    expect(listed).not.toContain(setting);
  });

  it('that is full is closed to a custom tool with the name of a built-in tool that reads', async () => {
    const source_code = "def read() -> str:\n    open('more.txt', 'w').write('x')\n    return 'written'\n";
    const { id } = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'read', source_code }));
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'], custom_tool_ids: [id] } });
    here.model.script(
      asks({ name: 'bash', args: { command: 'for i in $(seq 30); do echo x > f$i; done' } }),
      asks({ name: 'read', args: {} }),
      says('done'),
    );
    await here.ended(await here.prompt(workflow_id));
    const { messages } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const results = (messages as { role: string; content: string }[]).filter(({ role }) => role === 'tool');
    expect(results.at(-1)?.content).toContain('WORKSPACE_FILES');
  });
});

describe('a request that does not arrive', () => {
  const JSON_BODY = 'content-type: application/json\r\ncontent-length: 50\r\n\r\n{';
  const REQUESTS: Record<string, [head: string, rest: string]> = {
    headers: ['GET /api/skills HTTP/1.1', ''],
    'a body': ['POST /api/skills HTTP/1.1', JSON_BODY],
    'an upload': ['POST /api/knowledge-items/upload HTTP/1.1', UPLOAD],
    'a body for /v1': ['POST /v1/chat/completions HTTP/1.1', JSON_BODY],
    'a body for /mcp': ['POST /mcp HTTP/1.1', JSON_BODY],
  };
  const answers: Record<string, string> = {};
  const gone = new AbortController();
  let watched: string;
  let stream: Response;
  // They wait at the same time, and the stream began before them.
  beforeAll(async () => {
    const headers = { authorization: `Bearer ${ALICE}` };
    watched = await here.workflow();
    stream = await fetch(`${here.url}/api/workflows/${watched}/stream`, { headers, signal: gone.signal });
    const send = async ([what, [head, rest]]: [string, [string, string]]) => {
      const slow = halfSent(head);
      if (rest) slow.socket.write(rest);
      answers[what] = await slow.closed;
    };
    await Promise.all(Object.entries(REQUESTS).map(send));
  });
  afterAll(() => gone.abort());

  it.each(Object.keys(REQUESTS))('is ended with 408: %s', (what) => {
    expect(answers[what]).toContain('408 Request Timeout');
    expect(answers[what]).toContain('REQUEST_SECONDS');
  });

  it('is not a stream whose reply takes longer', async () => {
    here.model.script(says('Much later.'));
    await here.prompt(watched);
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    let said = '';
    while (!said.includes('Much later.')) {
      const { done, value } = await reader.read();
      expect({ done, said }).toEqual({ done: false, said });
      said += value;
    }
  });
});

describe('attempts to sign in', () => {
  const asked = (token: string) =>
    fetch(`${here.url}/api/me`, { headers: { authorization: `Bearer ${token}` } }).then(async (answer) => ({
      status: answer.status,
      retry_after: answer.headers.get('retry-after'),
      body: (await answer.json()) as { code?: string; detail?: string },
    }));

  it('are refused after too many failures, before the provider is asked; signed-in users stay signed in', async () => {
    const failed = await Promise.all(['x1', 'x2', 'x3', 'x4', 'x5'].map(asked));
    expect(failed.map(({ status }) => status).sort()).toEqual([401, 401, 401, 429, 429]);
    const refused = failed.find(({ status }) => status === 429)!;
    expect(refused.body).toMatchObject({ code: 'sign_in_limit', detail: expect.stringContaining('SIGN_IN_FAILURES_PER_MINUTE') });
    expect(Number(refused.retry_after)).toBeGreaterThan(0);
    expect((await asked(ALICE)).status).toBe(200);
  });

  it('are counted by address, an IPv6 network as one, and forgotten after a minute', () => {
    let now = 0;
    const sign_ins = createSignIns(1, () => now);
    sign_ins.attempt('2001:db8::1');
    expect(() => sign_ins.attempt('2001:db8:0:0:1::2')).toThrow('SIGN_IN_FAILURES_PER_MINUTE');
    sign_ins.attempt('2001:db8:0:1::1');
    sign_ins.attempt('10.0.0.1');
    sign_ins.forgive('10.0.0.1');
    sign_ins.attempt('10.0.0.1');
    now = 61_000;
    sign_ins.attempt('2001:db8::1');
  });
});

it('keeps no automatic memory beyond what its owner may store, and reports it in the run', async () => {
  const id = await here.workflow({ workflow: { auto_memory: true } });
  const fillers: string[] = [];
  for (let kept = await skill(here.alice, 2_000); kept.status === 201; kept = await skill(here.alice, 2_000))
    fillers.push(kept.body.id);
  here.model.script(says('Noted.'), says(JSON.stringify({ facts: [{ key: 'long', value: 'y'.repeat(3_000) }] })));
  const task_id = await here.prompt(id, 'Remember this.');
  await here.ended(task_id);
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${id}`));
  const stored = await until('the facts were judged', async () =>
    (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}?include=logs`))).logs.find(
      ({ event }: { event: string }) => event === 'memory_stored',
    ),
  );
  expect(stored.detail).toMatch(/^0 facts; .*STORED_BYTES_PER_PRINCIPAL/);
  expect((await here.alice.get(`/api/memories?agent_id=${agent_id}`)).body).toEqual([]);
  for (const filler of fillers) await here.alice.ok(here.alice.del(`/api/skills/${filler}`));
});

describe('an item of a dataset that is made from a run', () => {
  const LONG = 'z'.repeat(3_000);
  const ask = (command: string) => asks({ name: 'bash', args: { command } });
  /** Runs in which one part is long, and the item has a copy of it. */
  const LONG_PARTS: Record<string, { prompt?: string; answers: Parameters<typeof here.model.script> }> = {
    prompt: { prompt: LONG, answers: [says('Short.')] },
    answer: { answers: [says(LONG)] },
    'arguments of a call': { answers: [ask(`: ${LONG}`), says('Short.')] },
    'result of a call': { answers: [ask('head -c 3000 /dev/zero | tr "\\0" z'), says('Short.')] },
  };

  it.each(Object.keys(LONG_PARTS))('is stored only if its owner has room for what it copies: the %s', async (part) => {
    const { alice, model } = here;
    const { prompt = 'Go.', answers } = LONG_PARTS[part]!;
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['bash'] } });
    model.script(...answers);
    const task_id = await here.prompt(workflow_id, prompt);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed' });
    const { id } = await alice.ok(alice.post('/api/datasets', { name: name() }), 201);
    const fillers: string[] = [];
    for (let kept = await skill(alice, 2_000); kept.status === 201; kept = await skill(alice, 2_000)) fillers.push(kept.body.id);
    const add = () => alice.post(`/api/datasets/${id}/items`, { task_id });
    const refused = await add();
    for (const filler of fillers) await alice.ok(alice.del(`/api/skills/${filler}`));
    expect(refused).toMatchObject({ status: 413, body: { code: 'stored_bytes_limit' } });
    expect(JSON.stringify((await alice.ok(add(), 201)) as unknown).length).toBeGreaterThan(3_000);
    await alice.ok(alice.del(`/api/datasets/${id}`));
  });
});

it('refuses a task of every kind with 429 once as many run as allowed, whatever it starts from', {
  timeout: 60_000,
}, async () => {
  const { alice, model } = here;
  model.script(says('done'));
  const source = await here.workflow();
  const { id: task_id } = await here.ended(await here.prompt(source));
  const { id: conversation } = await alice.ok(alice.post('/v1/conversations', {}));
  const form = new FormData();
  form.append('file', new Blob(['text of a file'], { type: 'text/plain' }), 'notes.txt');
  const file = await alice.ok(alice.post('/api/attachments', form), 201);
  const asked = model.requests.length;
  model.script(hangs('one'), hangs('two'));
  const running = await Promise.all([here.workflow(), here.workflow()].map(async (id) => here.prompt(await id)));
  await until('both wait for the model', async () => model.requests.length >= asked + 2);
  const kinds: Record<string, Promise<Reply>> = {
    prompt: alice.post(`/api/workflows/${source}/prompt`, { prompt: 'go' }),
    'prompt with a file': alice.post(`/api/workflows/${source}/prompt`, { prompt: 'go', attachments: [{ id: file.id }] }),
    fork: alice.post(`/api/tasks/${task_id}/fork`, { from_step: 1 }),
    response: alice.post('/v1/responses', { model: source, input: 'go' }),
    'response of a conversation': alice.post('/v1/responses', { model: source, input: 'go', conversation }),
    completion: alice.post('/v1/chat/completions', { model: source, messages: [{ role: 'user', content: 'go' }] }),
  };
  const replies = await Promise.all(Object.entries(kinds).map(async ([kind, reply]) => [kind, await reply] as const));
  const seen = replies.map(([kind, { status, headers }]) => [kind, status, Number(headers.get('retry-after')) > 0]);
  expect(seen).toEqual(Object.keys(kinds).map((kind) => [kind, 429, true]));
  expect((await alice.ok(alice.get(`/v1/conversations/${conversation}/items`))).data).toEqual([]);
  for (const id of running)
    await alice.post(`/api/workflows/${(await alice.ok(alice.get(`/api/tasks/${id}`))).workflow_id}/halt`);
  for (const id of running) await here.ended(id);
});
