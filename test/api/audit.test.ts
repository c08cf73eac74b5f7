import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditTrail } from '../../src/api/service/audit-trail.ts';
import { formatRequestLine } from '../../src/main/log.ts';
import type { NewAuditEntry } from '../../src/store/people/audit.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import { clientOf } from '../support/client.ts';
import { daysAgo } from '../support/database/aged.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const lines: string[] = [];

beforeAll(async () => {
  const env = { ADMIN_SUBJECTS: 'local:bob', AUDIT_LOG: 'true' };
  here = await startTestInstallation({ env, log: (line) => void lines.push(line) });
  here.model.always(says('done'));
});
afterAll(() => here?.stop());

const entries = async (query: string) =>
  (await here.bob.ok(here.bob.get(`/api/audit?${query}`))) as unknown as Record<string, any>[];
const operations = async (query: string) =>
  (await entries(query)).map(({ operation, status }) => `${operation} ${status}`).reverse();

describe('the audit', () => {
  it('has who changed, ran, decided and exported what, when the reply is there', async () => {
    const { id: key_id, key } = await here.alice.ok(here.alice.post('/api/keys', { name: 'audited' }), 201);
    const client = clientOf(here.url, key);
    const skill = { name: 'audited', instructions: 'a text that is nowhere in the audit' };
    const { id } = await client.ok(client.post('/api/skills?x=private', skill, { 'x-request-id': 'mine' }), 201);
    const [first] = await entries(`resource_id=${id}`);
    expect(first).toMatchObject({
      ...{ principal: 'local:alice', login: 'alice', service_key_id: key_id, operation: 'create_skill', scope: 'write' },
      ...{ path: '/api/skills', resource_type: 'skills', resource_id: null, made_id: id, status: 201, request_id: 'mine' },
      ...{ address: '127.0.0.1', at: expect.any(String) },
    });
    await client.del(`/api/skills/${id}`);
    expect((await here.bob.get('/api/audit?operation=delete_skill')).body[0]).toMatchObject({ resource_id: id, status: 204 });
    const workflow_id = await here.workflow();
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    await here.alice.get(`/api/tasks/${task_id}`);
    await here.alice.get(`/api/tasks/${task_id}/bundle`);
    expect(await operations(`resource_id=${task_id}`)).toEqual(['prompt_workflow 201', 'get_task_bundle 200']);
    await here.alice.get('/api/export');
    expect(await operations('operation=export_everything')).toEqual(['export_everything 200']);
    expect(await operations('resource_type=keys')).toEqual(['create_service_key 201']);
    expect(JSON.stringify(await entries(''))).not.toMatch(/nowhere|private|pk_/);
  });

  it('has what was refused, runs behind every door, and not what only reads', async () => {
    const id = await here.workflow();
    const [made_now] = await entries('');
    // An entry's time is rounded to a millisecond, so it may be that of a request right after it.
    const since = new Date(Date.parse(made_now?.at) + 1).toISOString();
    await until('that moment', async () => new Date().toISOString() > since);
    await here.alice.put('/api/skills/01900000-0000-7000-8000-000000000000', {});
    await here.alice.post('/api/skills', { name: 5 });
    await here.alice.post('/v1/chat/completions', { model: id, messages: [{ role: 'user', content: 'x' }] });
    await here.alice.post('/v1/chat/completions', { model: id, messages: [{ role: 'user', content: 'x' }], stream: true });
    const headers = { accept: 'application/json, text/event-stream' };
    const rpc = (method: string, params: object) => here.alice.post('/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers);
    await rpc('tools/list', {});
    await rpc('tools/call', { name: 'none', arguments: { prompt: 'x' } });
    await here.alice.post('/api/memories/search', { agent_id: id, query: 'x' });
    await here.anonymous.post('/api/skills', {});
    await here.alice.put('/api/skills/%00', {});
    const query = `principal=local:alice&since=${since}`;
    const runs = ['create_chat_completion 200', 'create_chat_completion 200', 'mcp 200'];
    expect(await operations(query)).toEqual(['update_skill 404', 'create_skill 422', ...runs, 'update_skill 404']);
    expect(await operations(`${query}&until=${since}`)).toEqual([]);
    const made = (await entries('operation=create_chat_completion')).map(({ made_id }) => made_id);
    const tasks = (await here.alice.get(`/api/tasks?workflow_id=${id}`)).body as unknown as { id: string }[];
    expect(made).toEqual(tasks.map((task) => task.id));
  });

  it('is for administrators, and is streamed to the log', async () => {
    expect(await here.alice.get('/api/audit')).toMatchObject({ status: 403, body: { code: 'role_insufficient' } });
    const streamed = lines
      .filter((line) => line.includes('"msg":"audit"'))
      .map((line) => JSON.parse(line).audit as NewAuditEntry);
    expect(streamed.map(({ id }) => id).sort()).toEqual((await entries('')).map(({ id }) => id).sort());
    const line = lines.find((one) => one.includes('"msg":"audit"')) as string;
    expect(formatRequestLine(line)).toMatch(/^\d\d:\d\d:\d\d info +audit \{"principal":"local:alice"/);
  });

  it('has pages, newest first', async () => {
    const all = (await entries('')).map(({ id }) => id);
    const { body: first, headers } = await here.bob.get('/api/audit?limit=3');
    const next = /<([^>]+)>/.exec(headers.get('link') ?? '')?.[1] as string;
    const { body: second } = await here.bob.get(next);
    expect([...(first as unknown as []), ...(second as unknown as [])].map(({ id }: { id: string }) => id)).toEqual(
      all.slice(0, 6),
    );
    expect([...all].sort().reverse()).toEqual(all);
  });

  it('cannot be changed, emptied or shortened; only retention removes what is old', async () => {
    for (const text of ["UPDATE audit_entries SET login = 'x'", 'DELETE FROM audit_entries', 'TRUNCATE audit_entries'])
      await expect(here.sql(text)).rejects.toThrow('audit_is_append_only');
    const young = (await entries('')).length;
    await here.sql(`INSERT INTO audit_entries SELECT (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(), 'at', now() - interval '40 days'))).*
      FROM audit_entries e LIMIT 3`);
    const { audit } = here.core.store.retention;
    expect(await sweep(audit(daysAgo(30)), 30_000)).toEqual({ removed: { audit_entries: 3 }, finished: true });
    await expect(sweep(audit(daysAgo(-1)), 30_000)).rejects.toThrow('audit_is_append_only');
    expect(await entries('')).toHaveLength(young);
  });
});

describe('an entry that cannot be written', () => {
  const endpoint = { operation: 'create_skill', access: 'write', audited: true, path: '/api/skills' } as never;
  const request = {
    caller: { key: 'local:alice', login: 'alice' },
    params: {},
    url: '/api/skills',
    id: 'r',
    ip: '127.0.0.1',
  } as never;
  const answer = { status: 201, made_id: null };

  it.each([
    ['because it is refused', () => Promise.reject(new Error('no room'))],
    ['in time', () => new Promise<void>(() => {})],
  ])('%s holds no reply up, and is in the log', async (_, add) => {
    const logged: string[] = [];
    const trail = auditTrail({ store: { add }, stream: null, log: (line) => void logged.push(line), patience_ms: 20 });
    await trail.record(endpoint, request, answer);
    expect(logged).toEqual([expect.stringMatching(/not in the database yet: \{.*create_skill/)]);
  });

  it('waits with others while one is being written, for one statement', async () => {
    const batches: number[] = [];
    const gates: (() => void)[] = [];
    const add = (batch: readonly NewAuditEntry[]) => {
      batches.push(batch.length);
      return new Promise<void>((resolve) => void gates.push(resolve));
    };
    const trail = auditTrail({ store: { add }, stream: null, log: () => {} });
    const first = trail.record(endpoint, request, answer);
    await expect.poll(() => gates.length).toBe(1);
    const others = Array.from({ length: 5 }, () => trail.record(endpoint, request, answer));
    gates[0]?.();
    await first;
    await expect.poll(() => gates.length).toBe(2);
    gates[1]?.();
    await Promise.all(others);
    expect(batches).toEqual([1, 5]);
  });
});
