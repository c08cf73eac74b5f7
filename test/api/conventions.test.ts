import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../support/client.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

const UNKNOWN = '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

describe('refusals', () => {
  it('are problem details with a sentence, a stable code and the request id', async () => {
    const { status, headers, body } = await here.alice.get(`/api/agents/${UNKNOWN}`);
    expect(status).toBe(404);
    expect(headers.get('content-type')).toContain('application/problem+json');
    expect(body).toMatchObject({ status: 404, code: 'not_found', title: 'Not found', detail: `No agent with id ${UNKNOWN}` });
    expect(body.request_id).toBeTruthy();
  });

  it.each([
    ['no token', () => here.anonymous.get('/api/agents'), 401],
    ['no token on a path that does not exist', () => here.anonymous.get('/api/nothing'), 401],
    ['no token on the stream', () => here.anonymous.get(`/api/workflows/${UNKNOWN}/stream`), 401],
    ['a path that does not exist', () => here.alice.get('/api/nothing'), 404],
    ['an id that cannot exist', () => here.alice.get('/api/agents/not-an-id'), 404],
    ['an unknown workflow', () => here.alice.post(`/api/workflows/${UNKNOWN}/prompt`, { prompt: 'x' }), 404],
    ['an unknown task', () => here.alice.get(`/api/tasks/${UNKNOWN}`), 404],
    ['malformed JSON', () => here.alice.post('/api/agents', '{"name": '), 400],
    [
      'text that is not UTF-8',
      () =>
        here.alice.send('POST', '/api/agents', {
          body: Buffer.from([0x7b, 0xff, 0x7d]),
          headers: { 'content-type': 'application/json' },
        }),
      400,
    ],
    [
      'another content type',
      () => here.alice.post('/api/agents', 'name=x', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
    ],
    ['a body over 1 MiB', () => here.alice.post('/api/agents', { name: 'x', description: 'y'.repeat(1_100_000) }), 413],
    ['a wrong type', () => here.alice.post('/api/agents', { name: 5 }), 422],
    ['a body that is not an object', () => here.alice.post('/api/agents', [1]), 422],
    ['a null character', () => here.alice.post('/api/agents', { name: 'a\u0000b' }), 422],
    ['half a surrogate pair', () => here.alice.post('/api/agents', '{"name": "a\\ud800"}'), 422],
    ['a reference to nothing', () => here.alice.post('/api/agents', { name: 'r', provider_id: UNKNOWN }), 422],
    ['a limit out of range', () => here.alice.get('/api/agents?limit=0'), 422],
    ['a foreign cursor', () => here.alice.get('/api/agents?cursor=xyz'), 422],
  ])('distinguish %s', async (_what, ask, status) => {
    const reply = await ask();
    expect(reply.status).toBe(status);
    expect(reply.body).toMatchObject({ status, detail: expect.any(String), code: expect.any(String) });
  });

  it('name every field that is wrong', async () => {
    const { body } = await here.alice.post('/api/agents', { name: '', builtin_tools: 'all' });
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual(['name', 'builtin_tools']);
  });
});

describe('resources', () => {
  it('change only what a PUT sends, clear what may be null, and refuse null elsewhere', async () => {
    const agent = await here.alice.ok(
      here.alice.post('/api/agents', { name: 'put', description: 'd', model: 'm', builtin_tools: ['manage_todo_list'] }),
      201,
    );
    const path = `/api/agents/${agent.id}`;
    expect(await here.alice.ok(here.alice.put(path, { description: 'e' }))).toMatchObject({
      description: 'e',
      model: 'm',
      builtin_tools: ['manage_todo_list'],
    });
    expect(await here.alice.ok(here.alice.put(path, { model: null }))).toMatchObject({ model: null, description: 'e' });
    expect((await here.alice.put(path, { description: null })).status).toBe(422);
    expect((await here.alice.put(path, { unknown_field: 1 })).status).toBe(200);
    expect((await here.alice.del(path)).status).toBe(204);
    expect((await here.alice.get(path)).status).toBe(404);
  });

  it('refuse a taken name, and refuse to delete a resource in use, naming its users', async () => {
    const provider = await here.alice.ok(here.alice.post('/api/providers', { name: 'used', provider_type: 'openai' }));
    const agent = await here.alice.ok(here.alice.post('/api/agents', { name: 'user of it', provider_id: provider.id }));
    expect((await here.alice.post('/api/agents', { name: 'user of it' })).status).toBe(409);
    const refused = await here.alice.del(`/api/providers/${provider.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'in_use']);
    expect(refused.body.detail).toContain('user of it');
    await here.alice.ok(here.alice.post('/api/workflows', { agent_id: agent.id, title: 'bound' }));
    expect((await here.alice.del(`/api/agents/${agent.id}`)).body.detail).toContain('bound');
  });

  it('page newest first, with a link to the next page and the total', async () => {
    for (const name of ['page 1', 'page 2', 'page 3'])
      await here.alice.ok(here.alice.post('/api/agents', { name, description: 'paged' }));
    const first = await here.alice.get('/api/agents?limit=2&q=paged');
    expect(first.headers.get('x-total-count')).toBe('3');
    expect((first.body as unknown as { name: string }[]).map(({ name }) => name)).toEqual(['page 3', 'page 2']);
    const [, next] = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '') ?? [];
    const second = await here.alice.get(next!);
    expect((second.body as unknown as { name: string }[]).map(({ name }) => name)).toEqual(['page 1']);
    expect(second.headers.get('link')).toBeNull();
    // A page that is just full is the last one, too.
    expect((await here.alice.get('/api/agents?limit=3&q=paged')).headers.get('link')).toBeNull();
  });

  it('answer a repeated Idempotency-Key with the first reply, and refuse it for another request', async () => {
    const key = { 'idempotency-key': 'once' };
    const first = await here.alice.post('/api/agents', { name: 'idempotent' }, key);
    const again = await here.alice.post('/api/agents', { name: 'idempotent' }, key);
    expect([first.status, again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 200, 'true']);
    expect(again.body).toEqual(first.body);
    expect((await here.alice.post('/api/agents', { name: 'other' }, key)).status).toBe(409);
    expect((await here.bob.post('/api/agents', { name: 'of bob' }, key)).status).toBe(201);
  });

  it('let a refused request be sent again with its Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'again' };
    expect((await here.alice.post('/api/agents', { name: '' }, key)).status).toBe(422);
    expect((await here.alice.post('/api/agents', { name: 'fixed' }, key)).status).toBe(201);
  });

  it('are sent again with If-None-Match when a token that they need was made', async () => {
    const { alice } = here;
    const connection_config = { url: 'https://mcp.example.com', headers: { 'x-key': '{{token:later}}' } };
    const server = await alice.ok(alice.post('/api/mcps', { name: 'keyed', transport_type: 'http', connection_config }), 201);
    const values = { name: 'keyed', provider_type: 'openai', api_key_token_name: 'later' };
    const provider = await alice.ok(alice.post('/api/providers', values), 201);
    const read = async (path: string) => {
      const { headers, body } = await alice.get(path);
      return { path, etag: headers.get('etag') as string, needs: body.needs };
    };
    const before = await Promise.all([`/api/mcps/${server.id}`, `/api/providers/${provider.id}`].map(read));
    expect(before.map(({ needs }) => needs)).toEqual([['later'], ['later']]);
    await alice.ok(alice.post('/api/tokens', { name: 'later', value: 'x' }), 201);
    const after = await Promise.all(before.map(({ path, etag }) => alice.get(path, { 'if-none-match': etag })));
    expect(after.map(({ status, body }) => [status, body?.needs])).toEqual([
      [200, undefined],
      [200, undefined],
    ]);
  });

  it('honour If-Match', async () => {
    const created = await here.alice.post('/api/agents', { name: 'matched' });
    const path = `/api/agents/${created.body.id}`;
    const read = await here.alice.get(path);
    const etag = read.headers.get('etag')!;
    expect(created.headers.get('etag')).toBe(etag);
    expect((await here.alice.get(path, { 'if-none-match': etag })).status).toBe(304);
    expect((await here.alice.put(path, { description: 'one' }, { 'if-match': etag })).status).toBe(200);
    expect((await here.alice.put(path, { description: 'two' }, { 'if-match': etag })).status).toBe(412);
  });
});

describe('ownership', () => {
  it('keeps workflows, tasks and streams to their owner', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('mine'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const foreign = [
      here.bob.get(`/api/workflows/${workflow_id}`),
      here.bob.put(`/api/workflows/${workflow_id}`, { title: 'x' }),
      here.bob.del(`/api/workflows/${workflow_id}`),
      here.bob.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' }),
      here.bob.post(`/api/workflows/${workflow_id}/halt`),
      here.bob.get(`/api/workflows/${workflow_id}/stream`),
      here.bob.get(`/api/tasks/${task_id}`),
      here.bob.get(`/api/tasks/${task_id}/progress`),
      here.bob.get(`/api/tasks/workflow/${workflow_id}`),
      here.bob.post(`/api/tasks/${task_id}/stop`),
    ];
    expect((await Promise.all(foreign)).map(({ status }) => status)).toEqual(foreign.map(() => 403));
    expect((await here.bob.get('/api/workflows')).body).toEqual([]);
    expect((await here.bob.get('/api/tasks')).body).toEqual([]);
    expect((await here.alice.get(`/api/tasks?workflow_id=${workflow_id}`)).body).toHaveLength(1);
  });

  it('refuses prompts to a workflow that is switched off, until it is on again', async () => {
    const workflow_id = await here.workflow();
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { status: 'inactive' }));
    expect((await here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'x' })).body.code).toBe('workflow_inactive');
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { status: 'active' }));
    here.model.script(says('on'));
    expect(await here.ended(await here.prompt(workflow_id))).toMatchObject({ status: 'completed' });
  });

  it('takes exactly one of prompt and request', async () => {
    const workflow_id = await here.workflow();
    const path = `/api/workflows/${workflow_id}/prompt`;
    for (const body of [{}, { prompt: 'a', request: {} }, { prompt: '' }, { prompt: 3 }])
      expect((await here.alice.post(path, body)).status).toBe(422);
    here.model.script(says('ok'));
    const accepted = await here.alice.ok(here.alice.post(path, { request: { city: 'Oslo' } }), 201);
    expect(accepted).toMatchObject({ prompt: '{"city":"Oslo"}', workflow_id, status: 'pending' });
    expect(accepted.stream_url).toContain(accepted.task_id);
    await here.ended(accepted.task_id);
  });
});

describe('GET /api/me', () => {
  it('identifies callers by their access token and does not return the token', async () => {
    const rights = { is_admin: false, role: 'editor', scopes: ['read', 'run', 'write', 'keys'], service_key_id: null };
    const alice = { id: 'local:alice', provider: 'local', subject: 'alice', login: 'alice', ...rights };
    expect(await here.alice.ok(here.alice.get('/api/me'), 200)).toEqual(alice);
    expect(await here.bob.ok(here.bob.get('/api/me'), 200)).toEqual({ ...alice, id: 'local:bob', subject: 'bob', login: 'bob' });
    const { created_by } = await here.alice.ok(here.alice.post('/api/skills', { name: 'of alice', instructions: 'i' }), 201);
    expect(created_by).toBe(alice.id);
  });

  it('reads the scheme of the token in any case, and no other scheme', async () => {
    const status = async (authorization: string) => (await here.anonymous.get('/api/me', { authorization })).status;
    expect(await Promise.all([`bearer ${ALICE}`, `BEARER  ${ALICE}`].map(status))).toEqual([200, 200]);
    expect(await Promise.all([`Basic ${ALICE}`, ALICE, `Bearer ${ALICE} x`, 'Bearer'].map(status))).toEqual([401, 401, 401, 401]);
  });

  it('answers 401 without a valid token', async () => {
    expect((await here.anonymous.get('/api/me')).status).toBe(401);
    expect((await clientOf(here.url, 'nobody').get('/api/me')).status).toBe(401);
  });
});

describe('the id of a request', () => {
  const DOORS = ['/api/agents', '/api/nothing', '/health/live', '/metrics', '/openapi.json', '/v1/models', '/nowhere'];
  const idOf = async (path: string, given?: string) =>
    (await here.alice.get(path, given ? { 'x-request-id': given } : {})).headers.get('x-request-id');

  it.each(DOORS)('comes from X-Request-Id and is returned: %s', async (path) => {
    expect(await idOf(path, 'deploy:42_a.B-7')).toBe('deploy:42_a.B-7');
    const made = await idOf(path);
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
    expect(await idOf(path)).not.toBe(made);
  });

  it('is returned by a door that takes over the socket', async () => {
    const hello = {
      ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
    };
    const accept = { accept: 'application/json, text/event-stream' };
    const { status, headers } = await here.alice.post('/mcp', hello, { ...accept, 'x-request-id': 'mine' });
    expect([status, headers.get('x-request-id')]).toEqual([200, 'mine']);
    // The protocol demands both types.
    expect((await here.alice.post('/mcp', hello, { accept: 'application/json' })).status).toBe(406);
  });

  it('is in the refusal', async () => {
    const { body } = await here.alice.get(`/api/agents/${UNKNOWN}`, { 'x-request-id': 'mine' });
    expect(body.request_id).toBe('mine');
  });

  it.each([
    ['is longer than 128 characters', 'x'.repeat(129)],
    ['has characters that could end a line of the log or a field', 'a"b'],
    ['has spaces', 'a b'],
    ['is of several', 'a, b'],
  ])('is replaced if it %s', async (_what, given) => {
    expect(await idOf('/api/agents', given)).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('/metrics', () => {
  it('counts each request by its method, route and status, and names no id', async () => {
    const counted = async (labels: string) => {
      const text = String((await here.anonymous.get('/metrics')).body);
      const line = text.split('\n').find((each) => each.startsWith(`http_request_duration_seconds_count{${labels}}`));
      return Number(line?.split(' ').at(-1) ?? 0);
    };
    const missing = 'method="GET",route="/api/skills/:id",status="404"';
    const [before, others] = [await counted(missing), await counted('method="GET",route="/api/skills",status="200"')];
    for (const id of [UNKNOWN, UNKNOWN.replace('1', '2')]) expect((await here.alice.get(`/api/skills/${id}`)).status).toBe(404);
    await expect.poll(() => counted(missing)).toBe(before + 2);
    expect(await counted('method="GET",route="/api/skills",status="200"')).toBe(others);
    expect(String((await here.anonymous.get('/metrics')).body)).not.toContain(UNKNOWN);
  });
});

describe('without a token', () => {
  it('answers health and the description of the API', async () => {
    expect((await here.anonymous.get('/health/live')).body).toEqual({ status: 'live' });
    const ready = await here.anonymous.get('/health/ready');
    expect([ready.status, ready.body.status]).toEqual([200, 'ready']);
    expect(ready.body.tool_isolation).toBe(here.core.runner.isolation);
    expect(Object.keys(ready.body.checks)).toEqual(expect.arrayContaining(['database', 'engine', 'bus', 'migrations']));
    expect((await here.anonymous.get('/docs')).status).toBe(200);
    const { body } = await here.anonymous.get('/openapi.json');
    expect(body.openapi).toBe('3.1.0');
    const operations = Object.values(
      body.paths as Record<string, Record<string, { operationId: string; description?: string }>>,
    ).flatMap((path) => Object.values(path));
    expect(operations.filter(({ description }) => !description).map(({ operationId }) => operationId)).toEqual([]);
    expect(Object.keys(body.paths)).toEqual(
      expect.arrayContaining(['/api/agents', '/api/workflows/{id}/prompt', '/api/custom-tools/{id}/run']),
    );
  });
});
