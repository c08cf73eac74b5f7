import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MOST_KEYS } from '../../src/contracts/keys.ts';
import { clientOf, type Reply } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here?.stop());

const post = async (path: string, body: object): Promise<Record<string, any>> => here.alice.ok(here.alice.post(path, body), 201);
const refusal = ({ status, body }: Reply) => [status, body.code, body.errors?.[0]?.path];

interface Used {
  /** The resource itself; its id and its name. */
  make(name: string): Promise<{ id: string; name: string }>;
  by: 'agents' | 'workflows' | 'providers';
  /** How a record names it. */
  named(used: { id: string; name: string }): object;
}
const agentWith = (path: string, values: (name: string) => object, named: Used['named']) => (): Used => ({
  make: async (name) => ({ name, id: (await post(path, { name, ...values(name) })).id }),
  by: 'agents',
  named,
});

const USED: Record<string, () => Used> = {
  agents: () => ({
    make: async (name) => ({ name, id: (await post('/api/agents', { name })).id }),
    by: 'workflows',
    named: ({ id }) => ({ agent_id: id }),
  }),
  skills: () => ({
    make: async (name) => ({ name, id: (await post('/api/skills', { name, instructions: 'x' })).id }),
    by: 'workflows',
    named: ({ id }) => ({ skill_ids: [id] }),
  }),
  guardrails: () => ({
    make: async (name) => {
      const config = { max_length: 7 };
      return { name, id: (await post('/api/guardrails', { name, guardrail_type: 'prompt', config })).id };
    },
    by: 'workflows',
    named: ({ id }) => ({ guardrail_ids: [id] }),
  }),
  providers: agentWith(
    '/api/providers',
    () => ({ provider_type: 'openai' }),
    ({ id }) => ({ provider_id: id }),
  ),
  'custom-tools': agentWith(
    '/api/custom-tools',
    (name) => ({ source_code: `def ${name}():\n    return 1\n` }),
    ({ id }) => ({ custom_tool_ids: [id] }),
  ),
  mcps: agentWith(
    '/api/mcps',
    () => ({ transport_type: 'http', connection_config: { url: 'http://127.0.0.1:1/' } }),
    ({ id }) => ({ mcp_server_ids: [id] }),
  ),
  'knowledge-sources': agentWith(
    '/api/knowledge-sources',
    () => ({}),
    ({ id }) => ({ knowledge_source_ids: [id] }),
  ),
  tokens: () => ({
    make: async (name) => ({ name, id: (await post('/api/tokens', { name, value: 'x' })).id }),
    by: 'providers',
    named: ({ name }) => ({ api_key_token_name: name }),
  }),
};
/** Resources that no other record names. */
const FREE = ['datasets', 'knowledge-items', 'memories'];

describe('a resource that others use', () => {
  it('is listed here, or is one that nothing uses', async () => {
    const { paths } = (await here.anonymous.get('/openapi.json')).body as { paths: Record<string, any> };
    const shared = Object.entries(paths).flatMap(([path, { delete: remove, put }]) => {
      const [, collection] = /^\/api\/([\w-]+)\/\{id\}$/.exec(path) ?? [];
      return collection && put && remove?.responses['409'] ? [collection] : [];
    });
    expect(shared.filter((name) => !['workflows', 'threads'].includes(name)).sort()).toEqual(
      [...Object.keys(USED), ...FREE].sort(),
    );
  });

  it.each(Object.keys(USED))('of %s stays, and is deleted once its users are gone', async (collection) => {
    const { make, by, named } = USED[collection]!();
    const name = here.unique('used').replace(' ', '_');
    const used = await make(name);
    const users: string[] = [];
    for (const user of ['first', 'second']) {
      const base = by === 'workflows' ? { agent_id: await here.agent(), title: `${user} ${name}` } : { name: `${user} ${name}` };
      const more = by === 'providers' ? { provider_type: 'openai' } : {};
      users.push((await post(`/api/${by}`, { ...base, ...more, ...named(used) })).id);
    }
    const path = `/api/${collection}/${used.id}`;
    const refused = await here.alice.del(path);
    expect(refusal(refused)).toEqual([409, 'in_use', undefined]);
    for (const user of ['first', 'second']) expect(refused.body.detail).toContain(`${by.slice(0, -1)} ${user} ${name}`);
    expect((await here.alice.get(path)).status).toBe(200);
    await here.alice.ok(here.alice.del(`/api/${by}/${users[0]}`), 204);
    const later = (await here.alice.del(path)).body;
    expect([later.code, later.detail.includes(`first ${name}`)]).toEqual(['in_use', false]);
    await here.alice.ok(here.alice.del(`/api/${by}/${users[1]}`), 204);
    expect((await here.alice.del(path)).status).toBe(204);
    expect((await here.alice.get(path)).status).toBe(404);
  });
});

describe('a workflow', () => {
  const scheduled = async (workflow_id: string, name: string, enabled: boolean) => {
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    const values = { name, workflow_id, prompt: 'x', interval_value: 3, interval_unit: 'days', start_at };
    const { id } = await post('/api/scheduled-agents', values);
    if (!enabled) await disable(id);
    return id as string;
  };
  const disable = (id: string) => here.alice.ok(here.alice.patch(`/api/scheduled-agents/${id}/disable`));

  it('is not deleted while schedules run it, which are named; one that is switched off does not count', async () => {
    const id = await here.workflow();
    const schedules = [await scheduled(id, 'morning', true), await scheduled(id, 'evening', true)];
    await scheduled(id, 'never', false);
    const refused = await here.alice.del(`/api/workflows/${id}`);
    expect(refusal(refused)).toEqual([409, 'workflow_scheduled', undefined]);
    expect(refused.body.detail).toMatch(/^The schedules (?=.*morning)(?=.*evening)(?!.*never).* would stop running/);
    await here.alice.ok(here.alice.del(`/api/scheduled-agents/${schedules[0]}`), 204);
    expect((await here.alice.del(`/api/workflows/${id}`)).body.detail).toContain('The schedule evening would stop running');
    await disable(schedules[1]!);
    expect((await here.alice.del(`/api/workflows/${id}`)).status).toBe(204);
  });

  it('is deleted with its schedules and its running task if that is forced', async () => {
    const asked = here.model.requests.length;
    here.model.script(hangs('some'));
    const id = await here.workflow();
    const schedule = await scheduled(id, 'forced', true);
    const disabled = await scheduled(id, 'off', false);
    const task_id = await here.prompt(id);
    await until('the model is asked', async () => here.model.requests.length > asked);
    await disable(schedule);
    expect(refusal(await here.alice.del(`/api/workflows/${id}`))).toEqual([409, 'workflow_running', undefined]);
    expect((await here.alice.del(`/api/workflows/${id}?force=true`)).status).toBe(204);
    const gone = [`workflows/${id}`, `tasks/${task_id}`, `scheduled-agents/${schedule}`, `scheduled-agents/${disabled}`];
    expect(await Promise.all(gone.map(async (path) => (await here.alice.get(`/api/${path}`)).status))).toEqual([
      404, 404, 404, 404,
    ]);
    const { schedule: schedules } = here.driver.client;
    for (const one of [schedule, disabled])
      await expect(schedules.getHandle(`schedule-${one}`).describe()).rejects.toMatchObject({ name: 'ScheduleNotFoundError' });
  });
});

describe('a schedule that would run with the token of its owner', () => {
  it('is not changed under strict handling, but is disabled', async () => {
    const { alice } = here;
    const agent_id = await here.agent({ provider_id: null });
    const { id: workflow_id } = await post('/api/workflows', { agent_id });
    const start_at = new Date(Date.now() + 3_600_000).toISOString();
    const values = { name: 's', workflow_id, prompt: 'before', interval_value: 3, interval_unit: 'days', start_at };
    const { id } = await post('/api/scheduled-agents', values);
    const path = `/api/scheduled-agents/${id}`;
    const send = (to: string, body: object) => alice.send('PATCH', to, { body, headers: { prefer: 'handling=strict' } });
    expect(refusal(await send(path, { prompt: 'after', interval_value: 5 }))).toEqual([422, 'strict_handling', 'workflow_id']);
    expect(await alice.ok(alice.get(path))).toMatchObject({ prompt: 'before', interval_value: 3, enabled: true });
    expect(await send(`${path}/disable`, {})).toMatchObject({ status: 200, body: { enabled: false } });
    expect(refusal(await send(`${path}/enable`, {}))).toEqual([422, 'strict_handling', 'workflow_id']);
    expect(await alice.ok(alice.get(path))).toMatchObject({ enabled: false });
    expect(await alice.ok(alice.patch(path, { prompt: 'after' }))).toMatchObject({
      prompt: 'after',
      warnings: [{ path: 'workflow_id' }],
    });
    await alice.ok(alice.del(path), 204);
  });
});

describe('what has ended', () => {
  it('is not stopped, decided, answered or given a budget any more', async () => {
    here.model.script(says('done'));
    const workflow_id = await here.workflow({ agent: { builtin_tools: ['manage_todo_list'] } });
    const { id } = await here.ended(await here.prompt(workflow_id));
    await here.sql(
      `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, status)
       VALUES ($1, '1-0', 1, 0, 'x', '{}', 'write', 'done')`,
      id,
    );
    const task = `/api/tasks/${id}`;
    const refused = {
      halt: await here.alice.post(`/api/workflows/${workflow_id}/halt`),
      stop: await here.alice.post(`${task}/stop`),
      budget: await here.alice.post(`${task}/budget`, { max_tokens: 7 }),
      approve: await here.alice.post(`${task}/approvals/1-0`, { decision: 'approve' }),
      reconcile: await here.alice.post(`${task}/reconciliations/1-0`, { decision: 'retry' }),
      answer: await here.alice.post(`${task}/answers/1-0`, { question_id: uuid(), action: 'decline' }),
      continuity: await here.alice.post(`${task}/continuity`, { decision: 'fail' }),
    };
    expect(Object.entries(refused).map(([name, { status, body }]) => [name, status, body.code])).toEqual([
      ['halt', 409, 'nothing_running'],
      ['stop', 409, 'task_ended'],
      ['budget', 409, 'task_ended'],
      ['approve', 409, 'nothing_to_decide'],
      ['reconcile', 409, 'nothing_to_decide'],
      ['answer', 409, 'nothing_to_answer'],
      ['continuity', 409, 'nothing_to_decide'],
    ]);
    expect(await here.alice.ok(here.alice.get(task))).toMatchObject({ status: 'completed', budget: null });
  });

  it.each(['completed', 'failed', 'halted'])('of evaluations, as one that is %s, is not halted', async (status) => {
    const { dataset } = openEvaluations(here);
    const [dataset_id, id] = [await dataset({ One: 'x' }), uuid()];
    await here.sql(
      `INSERT INTO evaluations (id, dataset_id, workflow_id, definition_hash, graders, effects, parallel, status, items, created_by, owner_login)
       VALUES ($1, $2, $3, 'h', '[]', 'stub', 1, $4, 0, $5, $6)`,
      ...[id, dataset_id, await here.workflow(), status, here.people.alice.subject, here.people.alice.login],
    );
    const refused = await here.alice.post(`/api/datasets/${dataset_id}/runs/${id}/halt`);
    expect(refusal(refused)).toEqual([409, 'evaluation_ended', undefined]);
    expect(refused.body.detail).toContain(`is ${status}`);
  });

  it('of messages is delivered again, and one that is being delivered is not', async () => {
    here.model.script(says('done'));
    const { id } = await here.ended(await here.prompt(await here.workflow()));
    const [open, ended] = [uuid(), uuid()];
    for (const [delivery, status] of [
      [open, 'pending'],
      [ended, 'failed'],
    ])
      await here.sql(
        `INSERT INTO webhook_deliveries (id, task_id, url, payload, status) VALUES ($1, $2, 'http://127.0.0.1:1/', '{}', $3)`,
        ...[delivery, id, status],
      );
    const redeliver = (delivery: string) => here.alice.post(`/api/tasks/${id}/webhooks/${delivery}/redeliver`);
    expect(refusal(await redeliver(open))).toEqual([409, 'delivery_under_way', undefined]);
    expect(await redeliver(ended)).toMatchObject({ status: 202, body: { id: ended, status: 'pending' } });
  });
});

describe('custom tools', () => {
  const upload = async (filename: string, content: string | Uint8Array<ArrayBuffer>) => {
    const form = new FormData();
    form.set('file', new File([content], filename));
    return here.alice.send('POST', '/api/custom-tools/upload', { body: form });
  };

  it('are uploaded as Python files in UTF-8 only', async () => {
    expect(refusal(await upload('tool.txt', 'def tool():\n    return 1\n'))).toEqual([400, 'not_python', undefined]);
    expect(refusal(await upload('tool.py', new Uint8Array([0x23, 0xff, 0xfe])))).toEqual([422, 'invalid_tool', 'file']);
  });

  it('do not run while they are disabled', async () => {
    const name = here.unique('off').replace(' ', '_');
    const values = { name, source_code: `def ${name}():\n    return 1\n`, is_enabled: false };
    const { id } = await post('/api/custom-tools', values);
    const run = () => here.alice.post(`/api/custom-tools/${id}/run`, { arguments: {} });
    expect(refusal(await run())).toEqual([409, 'tool_disabled', undefined]);
    await here.alice.ok(here.alice.put(`/api/custom-tools/${id}`, { is_enabled: true }));
    expect(await run()).toMatchObject({ status: 200, body: { success: true } });
  });
});

describe('requests', () => {
  it('with the Idempotency-Key of another path, method or longer than one may be are refused', async () => {
    const key = (name: string) => ({ 'idempotency-key': name });
    const body = { name: here.unique('k'), description: 'x' };
    await here.alice.ok(here.alice.post('/api/datasets', body, key('elsewhere')), 201);
    expect(refusal(await here.alice.post('/api/agents', body, key('elsewhere')))).toEqual([
      409,
      'idempotency_key_reused',
      undefined,
    ]);
    const long = (length: number) => here.alice.post('/api/datasets', { name: here.unique('k') }, key('k'.repeat(length)));
    expect([(await long(255)).status, (await long(256)).status]).toEqual([201, 400]);
  });

  it('with a filter that a list does not have, or an id in the query that cannot be one, are refused', async () => {
    expect(refusal(await here.alice.get('/api/providers?tag=x'))).toEqual([422, 'invalid_fields', 'tag']);
    expect(refusal(await here.alice.get('/api/agents?qq=x'))).toEqual([422, 'invalid_fields', 'qq']);
    expect((await here.alice.get('/api/agents?colour=x')).status).toBe(200);
    expect((await here.alice.get('/api/memories?agent_id=no-such-id')).status).toBe(404);
    expect((await here.alice.get(`/api/memories?agent_id=${uuid()}`)).status).toBe(200);
  });

  it('larger than an operation takes are refused, to the byte', async () => {
    const MIB = 1024 * 1024;
    const filled = (body: (text: string) => object, bytes: number) =>
      JSON.stringify(body('x'.repeat(bytes - Buffer.byteLength(JSON.stringify(body(''))))));
    const skill = (instructions: string) => ({ name: 'large', instructions });
    const send = (path: string, body: string | FormData) => here.alice.send('POST', path, { body });
    const made = await send('/api/skills', filled(skill, MIB));
    expect([made.status, (await send('/api/skills', filled(skill, MIB + 1))).status]).toEqual([201, 413]);
    const items = (text: string) => ({ items: [skill(text)] });
    const dry = '/api/skills/import?dry_run=true';
    expect([(await send(dry, filled(items, 8 * MIB))).status, (await send(dry, filled(items, 8 * MIB + 1))).status]).toEqual([
      201, 413,
    ]);
    const upload = async (bytes: number) => {
      const form = new FormData();
      form.set('file', new File([Buffer.alloc(bytes, 'x')], 'large.py'));
      return refusal(await send('/api/custom-tools/upload', form)).slice(0, 2);
    };
    // The tool is not one; its file is not too large.
    expect([await upload(25 * MIB), await upload(25 * MIB + 1)]).toEqual([
      [422, 'invalid_fields'],
      [413, 'too_large'],
    ]);
    await here.alice.ok(here.alice.del(`/api/skills/${made.body.id}`), 204);
  });

  it('nested deeper than 64 levels are refused with the place where that begins', async () => {
    const nested = (levels: number): object => (levels === 0 ? {} : { a: nested(levels - 1) });
    const agent_id = await here.agent();
    const remember = (levels: number) =>
      here.alice.post('/api/memories', { agent_id, key: `deep ${levels}`, value: 'x', metadata: nested(levels) });
    expect((await remember(63)).status).toBe(201);
    const refused = await remember(64);
    expect(refusal(refused)).toEqual([422, 'invalid_fields', 'metadata.a.a.a']);
    expect(refused.body.detail).toContain('64 levels deep');
  });

  it('of somebody without the role for all usage are refused, for every report', async () => {
    for (const path of ['/api/usage', '/api/usage/tools', '/api/usage/models']) {
      expect((await here.alice.get(`${path}?scope=all`)).status, path).toBe(403);
      expect((await here.alice.get(path)).status, path).toBe(200);
    }
  });

  it('for one more service key than a person may have are refused, and not to others', async () => {
    const { alice, bob, people } = here;
    await here.sql(
      `INSERT INTO service_keys (id, owner, owner_login, name, role, scopes, hash, hint)
       SELECT gen_random_uuid(), $1, 'x', 'key ' || n, 'viewer', '{read}', sha256(($1 || n)::bytea), 'x' FROM generate_series(1, $2::int) n`,
      ...[people.alice.subject, MOST_KEYS - 1],
    );
    const make = (client = alice) => client.post('/api/keys', { name: here.unique('key'), scopes: ['read'] });
    expect((await make()).status).toBe(201);
    expect(refusal(await make())).toEqual([409, 'keys_limit', undefined]);
    const { key } = await bob.ok(make(bob), 201);
    expect((await clientOf(here.url, key).get('/api/me')).status).toBe(200);
    await here.sql('DELETE FROM service_keys WHERE owner = $1', people.alice.subject);
  });
});

describe('records', () => {
  it.each<[string, () => Promise<[path: string, body: object]>, string]>([
    [
      'a memory of an agent with a workflow',
      async () => {
        const agent_id = await here.agent();
        return ['/api/memories', { agent_id, scope: 'agent', workflow_id: await here.workflow(), key: 'k', value: 'v' }];
      },
      'workflow_id',
    ],
    [
      'an item of a source in another database',
      async () => {
        const connection_config = { url: 'http://127.0.0.1:1', collection: 'c' };
        const { id } = await post('/api/knowledge-sources', {
          name: here.unique('s'),
          source_type: 'vector_db',
          connection_config,
        });
        return ['/api/knowledge-items', { source_id: id, name: 'x', content: 'x' }];
      },
      'source_id',
    ],
    [
      'a provider without an address that needs one, as a change of its type',
      async () => {
        const { id } = await post('/api/providers', { name: here.unique('p'), provider_type: 'openai' });
        return [`PUT /api/providers/${id}`, { provider_type: 'azure_openai' }];
      },
      'base_url',
    ],
    [
      'a guardrail of another type than it has',
      async () => {
        const values = { name: here.unique('g'), guardrail_type: 'prompt', config: { max_length: 7 } };
        return [`PUT /api/guardrails/${(await post('/api/guardrails', values)).id}`, { guardrail_type: 'output' }];
      },
      'guardrail_type',
    ],
    [
      'a schedule that ends when it begins',
      async () => {
        const at = new Date(Date.now() + 3_600_000).toISOString();
        const values = { name: 's', workflow_id: await here.workflow(), prompt: 'x', interval_value: 3, interval_unit: 'hours' };
        return ['/api/scheduled-agents', { ...values, start_at: at, end_at: at }];
      },
      'end_at',
    ],
    [
      'an alert of somebody else’s workflow',
      async () => ['/api/alerts', { name: 'a', measure: 'backlog', threshold: 3, workflow_id: uuid() }],
      'workflow_id',
    ],
    [
      'an item of a run that nobody has',
      async () => {
        const { id } = await post('/api/datasets', { name: here.unique('d') });
        return [`/api/datasets/${id}/items`, { task_id: uuid() }];
      },
      'task_id',
    ],
    [
      'a status of a workflow that only runs set',
      async () => [`PUT /api/workflows/${await here.workflow()}`, { status: 'completed' }],
      'status',
    ],
  ])('%s are refused in their field', async (_, build, path) => {
    const [target, body] = await build();
    const [method, url] = target.startsWith('PUT ') ? (['PUT', target.slice(4)] as const) : (['POST', target] as const);
    expect(refusal(await here.alice.send(method, url, { body }))).toEqual([422, 'invalid_fields', path]);
  });

  it('of a baseline of another dataset is refused, and one of the same is taken', async () => {
    const { dataset, order } = openEvaluations(here);
    const [own, other] = [await dataset({ One: 'x' }), await dataset({ Two: 'x' })];
    const workflow_id = await here.workflow();
    const evaluation = async (dataset_id: string) => {
      const id = uuid();
      await here.sql(
        `INSERT INTO evaluations (id, dataset_id, workflow_id, definition_hash, graders, effects, parallel, status, items, created_by, owner_login)
         VALUES ($1, $2, $3, 'h', '[]', 'stub', 1, 'completed', 0, $4, $5)`,
        ...[id, dataset_id, workflow_id, here.people.alice.subject, here.people.alice.login],
      );
      return id;
    };
    const begin = async (baseline_id: string) =>
      refusal(await order(own, { workflow_id, graders: [{ type: 'exact' }], baseline_id }));
    expect(await begin(await evaluation(other))).toEqual([422, 'invalid_fields', 'baseline_id']);
    here.model.always(says('x'));
    expect((await begin(await evaluation(own)))[0]).toBe(201);
  });
});
