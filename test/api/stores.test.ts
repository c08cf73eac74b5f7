import { setTimeout } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { inTransaction } from '../../src/store/database/database.ts';
import type { Store } from '../../src/store/index.ts';
import { takeAuditTurn } from '../../src/store/people/audit.sql.ts';
import { linkAttachments } from '../../src/store/runs/attachments.ts';
import { pinForkParts } from '../../src/store/runs/pin.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
let store: Store;
beforeAll(async () => {
  here = await shareInstallation({ worker: false });
  store = here.core.store;
});
afterAll(() => here?.stop());

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000];
const ago = (ms: number) => new Date(Date.now() - ms);
const ahead = (ms: number) => new Date(Date.now() + ms);

describe('the key of a request', () => {
  const claim = (key: string, { principal = 'p', hash = 'h' } = {}) => store.idempotency.claim({ principal, key }, hash);
  const age = (key: string, ms: number) => here.sql('UPDATE idempotency_keys SET created_at = $2 WHERE key = $1', key, ago(ms));
  const named = (name: string) => here.unique(name);

  it('belongs to one request of one person', async () => {
    const key = named('mine');
    const first = await claim(key);
    expect(first).toMatchObject({ kind: 'new', claim: 1 });
    expect(await claim(key)).toEqual({ kind: 'busy' });
    expect(await claim(key, { hash: 'other' })).toEqual({ kind: 'mismatch' });
    expect(await claim(key, { principal: 'q' })).toMatchObject({ kind: 'new', claim: 1 });
    expect('reserved_id' in first && first.reserved_id).toBe(await store.idempotency.reserved({ principal: 'p', key }));
    expect(await store.idempotency.reserved({ principal: 'nobody', key })).toBeNull();
  });

  it.each([
    ['a minute before', 24 * HOUR - MINUTE, { kind: 'replay', reply: { made: 7 } }],
    ['a second after', 24 * HOUR + SECOND, { kind: 'new', claim: 1 }],
  ])('gives its reply for 24 hours: %s they are over', async (_, ms, claimed) => {
    const key = named('kept');
    await claim(key);
    expect(await store.idempotency.keep({ principal: 'p', key }, { made: 7 })).toEqual({ kind: 'kept' });
    await age(key, ms);
    expect(await claim(key)).toMatchObject(claimed);
  });

  it.each([
    ['still at it', 25 * SECOND, { kind: 'busy' }],
    ['lost', 31 * SECOND, { kind: 'new', claim: 2 }],
    ['lost before the clock was set back', -31 * SECOND, { kind: 'new', claim: 2 }],
  ])('is taken over, with the same id, from a server that is %s', async (_, ms, claimed) => {
    const key = named('open');
    const first = await claim(key);
    await age(key, ms);
    const second = await claim(key);
    expect(second).toMatchObject(claimed);
    if (second.kind === 'new') expect(second.reserved_id).toBe((first as { reserved_id: string }).reserved_id);
    expect((await claim(key)).kind).toBe('busy');
  });

  it('keeps the first of two replies, and none of a request that was cancelled', async () => {
    const place = { principal: 'p', key: named('twice') };
    await claim(place.key);
    expect(await store.idempotency.keep(place, { made: 7 })).toEqual({ kind: 'kept' });
    expect(await store.idempotency.keep(place, { made: 11 })).toEqual({ kind: 'answered', reply: { made: 7 } });
    expect(await store.idempotency.withdraw(place)).toBe(false);
    const cancelled = { principal: 'p', key: named('cancelled') };
    await claim(cancelled.key);
    expect(await store.idempotency.withdraw(cancelled)).toBe(true);
    expect(await store.idempotency.keep(cancelled, { made: 7 })).toEqual({ kind: 'withdrawn' });
    expect(await claim(cancelled.key)).toEqual({ kind: 'busy' });
    // It was forgotten while its request was served.
    expect(await store.idempotency.keep({ principal: 'p', key: named('forgotten') }, { made: 7 })).toEqual({ kind: 'kept' });
  });

  const refusal = (kind: 'invalid' | 'unavailable' | 'upstream' | 'conflict') => new AppError(kind, 'No.');
  it.each<[string, Error, boolean, boolean]>([
    ['was refused', refusal('invalid'), false, false],
    ['met a conflict', refusal('conflict'), false, false],
    ['was refused the second time', refusal('invalid'), true, true],
    ['met an outage', refusal('unavailable'), false, true],
    ['failed at another service', refusal('upstream'), false, true],
    ['failed inside', new Error('no'), false, true],
  ])('of a request that %s is free at once, with another id unless its record may exist', async (_, error, repeated, same) => {
    const place = { principal: 'p', key: named('failed') };
    const first = (await claim(place.key)) as { reserved_id: string };
    if (repeated) {
      await store.idempotency.failed(place, refusal('unavailable'), { claim: 1 });
      await claim(place.key);
    }
    await store.idempotency.failed(place, error, { claim: repeated ? 2 : 1 });
    const second = (await claim(place.key)) as { reserved_id: string; claim: number };
    expect([second.reserved_id === first.reserved_id, second.claim > 1]).toEqual([same, same]);
  });
});

describe('a sign-in by a browser', () => {
  const person = (login: string) => ({ provider: 'oidc', subject: login, login, claimed_role: 'viewer' as const });

  it('is known until it ends, and each is another', async () => {
    const create = (login: string, expires_at: Date) => store.browserSessions.create({ ...person(login), expires_at });
    const [over, mine, theirs] = [
      await create('a', ago(SECOND)),
      await create('a', ahead(MINUTE)),
      await create('b', ahead(MINUTE)),
    ];
    expect(mine).toMatch(/^ps_[\w-]{43,}$/);
    expect(await store.browserSessions.known(over)).toBeNull();
    expect(await store.browserSessions.known(mine)).toMatchObject(person('a'));
    await store.browserSessions.remove(mine);
    expect(await store.browserSessions.known(mine)).toBeNull();
    expect(await store.browserSessions.known(theirs)).toMatchObject({ login: 'b' });
  });

  it('is noted with the login and the role that it named last', async () => {
    const subject = here.unique('s');
    const id = `oidc:${subject}`;
    await store.principals.noteSignIn({ provider: 'oidc', subject, login: 'before', claimed_role: 'viewer' });
    const [{ last_seen_at: before }] = await here.sql('SELECT last_seen_at FROM principals WHERE id = $1', id);
    await here.sql(`UPDATE principals SET last_seen_at = now() - interval '1 day' WHERE id = $1`, id);
    await store.principals.noteSignIn({ provider: 'oidc', subject, login: 'now', claimed_role: 'editor' });
    expect(await store.principals.find(id)).toMatchObject({ login: 'now', claimed_role: 'editor' });
    const [{ last_seen_at: after }] = await here.sql('SELECT last_seen_at FROM principals WHERE id = $1', id);
    expect(after.getTime()).toBeGreaterThanOrEqual(before.getTime());
    await store.principals.noteSignIn({ provider: 'oidc', subject, login: 'now' });
    expect(await store.principals.find(id)).toMatchObject({ claimed_role: null });
  });
});

describe('a service key', () => {
  const make = async (expires_at: Date | null = null) => {
    const owner = here.unique('owner');
    const values = { owner, owner_login: 'o', name: 'k', role: 'editor' as const, scopes: ['read', 'keys'] as const };
    return store.serviceKeys.create({ ...values, expires_at: expires_at?.toISOString() ?? null }, null);
  };
  const failures: string[] = [];
  const known = (key: string) => store.serviceKeys.known(key, ({ message }) => void failures.push(message));
  const useOf = async (id: string) => (await here.sql('SELECT last_used_at FROM service_keys WHERE id = $1', id))[0].last_used_at;

  it('is valid until its time, and its id with it', async () => {
    const [open, over] = [await make(ahead(MINUTE)), await make(ago(SECOND))];
    expect([(await known(open.key))?.id, await known(over.key)]).toEqual([open.id, null]);
    expect([(await store.serviceKeys.valid(open.id))?.id, await store.serviceKeys.valid(over.id)]).toEqual([open.id, null]);
    expect((await store.serviceKeys.valid((await make()).id))?.scopes).toEqual(['read', 'keys']);
  });

  it('that was replaced is valid for a while, may manage no keys, and ends with that while', async () => {
    const { id, key } = await make(ahead(HOUR));
    const { key: fresh } = await store.serviceKeys.rotate(id, ahead(MINUTE), null);
    const until = (await store.serviceKeys.find(id))?.previous_valid_until;
    const [before, now] = [await known(key), await known(fresh)];
    expect([before?.scopes, before?.expires_at?.toISOString()]).toEqual([['read'], until]);
    expect(now?.scopes).toEqual(['read', 'keys']);
    expect(now?.expires_at?.getTime()).toBeGreaterThan(Date.now() + 30 * MINUTE);
    await here.sql('UPDATE service_keys SET previous_until = $2 WHERE id = $1', id, ago(SECOND));
    expect([await known(key), (await known(fresh))?.id]).toEqual([null, id]);
    expect((await store.serviceKeys.find(id))?.previous_valid_until).toBeNull();
  });

  it('has its last use on record, which is written once a minute', async () => {
    const { id, key } = await make();
    await known(key);
    await expect.poll(() => useOf(id)).not.toBeNull();
    const recent = ago(50 * SECOND);
    await here.sql('UPDATE service_keys SET last_used_at = $2 WHERE id = $1', id, recent);
    await known(key);
    // A later use of another key is written after this one would have been.
    const other = await make();
    await known(other.key);
    await expect.poll(() => useOf(other.id)).not.toBeNull();
    expect(await useOf(id)).toEqual(recent);
    const older = ago(70 * SECOND);
    await here.sql('UPDATE service_keys SET last_used_at = $2 WHERE id = $1', id, older);
    await known(key);
    await expect.poll(() => useOf(id)).not.toEqual(older);
    expect(failures).toEqual([]);
  });
});

describe('the secret of webhooks', () => {
  it('signs with the one before for a while, first with that of the installation', async () => {
    const owner = here.unique('owner');
    const installation = 'whsec_of_the_installation';
    expect(await store.webhookSecrets.valid(owner, installation)).toEqual([installation]);
    const first = await store.webhookSecrets.rotate(owner);
    expect(await store.webhookSecrets.valid(owner, installation)).toEqual([first.secret, installation]);
    const second = await store.webhookSecrets.rotate(owner);
    expect(await store.webhookSecrets.valid(owner, installation)).toEqual([second.secret, first.secret]);
    expect(await store.webhookSecrets.describe(owner)).toMatchObject({ source: 'own', fingerprint: second.fingerprint });
    await here.sql('UPDATE webhook_secrets SET previous_until = $2 WHERE owner = $1', owner, ago(SECOND));
    expect(await store.webhookSecrets.valid(owner, installation)).toEqual([second.secret]);
    expect((await store.webhookSecrets.describe(owner)).previous_valid_until).toBeNull();
  });
});

describe('a request to a provider with a limit', () => {
  it.each([
    [1, 1],
    [19, 1],
    [20, 2],
    [39, 3],
  ])('of %i a minute waits once %i were sent at once', async (requests_per_minute, burst) => {
    const values = { name: here.unique('limited'), provider_type: 'openai_compatible', base_url: 'https://m.example' };
    const { id } = await here.alice.ok(here.alice.post('/api/providers', values), 201);
    const waits: number[] = [];
    for (let sent = 0; sent <= burst; sent += 1) {
      waits.push(await store.rates.admit(id, requests_per_minute));
      // The clocks of two processors may differ a little.
      await setTimeout(5);
    }
    expect(waits.slice(0, burst)).toEqual(Array(burst).fill(0));
    const each_ms = MINUTE / requests_per_minute;
    expect(waits[burst]).toBeGreaterThan(0);
    expect(waits[burst]).toBeLessThanOrEqual(Math.ceil(each_ms));
  });
});

describe('the sizes of the installation', () => {
  it('are kept for a week of hours, the newest last', async () => {
    const sample = (database: number) => ({ at: ago(0).toISOString(), database, engine: null, home: null, disk_free: null });
    const before = await here.sql(`SELECT value FROM installation_facts WHERE name = 'size_samples'`);
    const many = Array.from({ length: 168 }, (_, index) => sample(index));
    await here.sql(`DELETE FROM installation_facts WHERE name = 'size_samples'`);
    await here.sql(`INSERT INTO installation_facts (name, value) VALUES ('size_samples', $1)`, JSON.stringify(many));
    await store.sizes.note(sample(1_009));
    const samples = await store.sizes.samples();
    expect([samples.length, samples[0]?.database, samples.at(-1)?.database]).toEqual([168, 1, 1_009]);
    await here.sql(`DELETE FROM installation_facts WHERE name = 'size_samples'`);
    for (const { value } of before)
      await here.sql(`INSERT INTO installation_facts (name, value) VALUES ('size_samples', $1)`, value);
  });
});

describe('the last listing of an MCP server', () => {
  const tool = (name: string) => ({ name, description: '', parameters: {}, effect: 'read' as const });
  const makeServer = async (connection_config: object = { url: 'https://mcp.example/mcp' }) => {
    const values = { name: here.unique('server'), transport_type: 'http', connection_config };
    const { id } = await here.alice.ok(here.alice.post('/api/mcps', values), 201);
    return { id, opened: (await store.mcpServers.findOpened(id))! };
  };
  const names = async (id: string, principal: string) =>
    (await store.mcpListings.of([id], principal)).get(id)?.tools.map(({ name }) => name);

  it('is the newest that the person may read: their own, or one without a sign-in', async () => {
    const { id, opened: server } = await makeServer();
    await store.mcpListings.save({ server, principal: 'p', signed_in: true, tools: [tool('of-p')] });
    expect([await names(id, 'p'), await names(id, 'q')]).toEqual([['of-p'], undefined]);
    await store.mcpListings.save({ server, principal: 'q', signed_in: false, tools: [tool('of-all')] });
    await here.sql(
      `UPDATE mcp_listings SET listed_at = listed_at - interval '1 minute' WHERE server_id = $1 AND principal = 'p'`,
      id,
    );
    expect([await names(id, 'p'), await names(id, 'q'), await names(id, 'r')]).toEqual([['of-all'], ['of-all'], ['of-all']]);
    await store.mcpListings.save({ server, principal: 'p', signed_in: true, tools: [tool('of-p-again')] });
    expect([await names(id, 'p'), await names(id, 'r')]).toEqual([['of-p-again'], ['of-all']]);
  });

  it('is personal if stored tokens were sent, and gone once the server has another address', async () => {
    const { id, opened: server } = await makeServer({
      url: 'https://mcp.example/mcp',
      headers: { authorization: '{{token:mine}}' },
    });
    await store.mcpListings.save({ server, principal: 'p', signed_in: false, tools: [tool('of-p')] });
    expect([await names(id, 'p'), await names(id, 'q')]).toEqual([['of-p'], undefined]);
    const url = 'https://elsewhere.example/mcp';
    await here.alice.ok(here.alice.put(`/api/mcps/${id}`, { connection_config: { ...server.connection_config, url } }));
    expect(await names(id, 'p')).toBeUndefined();
    // Asked before the change, and answered after it.
    await store.mcpListings.save({ server, principal: 'p', signed_in: false, tools: [tool('late')] });
    expect(await names(id, 'p')).toBeUndefined();
  });
});

describe('a schedule', () => {
  const HOURLY = { interval_value: 1, interval_unit: 'hours', start_at: new Date(Date.UTC(2026, 0, 1)).toISOString() };
  const make = async (values: object = {}) => {
    const agent_id = await here.agent();
    const workflow = await here.alice.ok(here.alice.post('/api/workflows', { agent_id }), 201);
    const { alice } = here.people;
    const owner = { owner: alice.subject, owner_login: alice.login, workflow_id: workflow.id };
    const row = await store.scheduledAgents.create(
      { name: here.unique('s'), prompt: 'Go.', ...HOURLY, ...owner, ...values },
      { access_token: 'hunter2-of-alice', service_key_id: null },
    );
    return row;
  };
  const due = (hour: number) => new Date(Date.UTC(2026, 1, 1, hour));

  it('serves each due time once, with one task, until it is settled', async () => {
    const { id } = await make();
    const first = await store.scheduledAgents.claimFire(id, due(1));
    expect(await store.scheduledAgents.claimFire(id, due(1))).toEqual({ ...first, is_settled: false });
    expect((await store.scheduledAgents.claimFire(id, due(2))).task_id).not.toBe(first.task_id);
    await store.scheduledAgents.noteWaiting(id, due(1), 'The engine is gone');
    await store.scheduledAgents.settleFire(id, due(1), { outcome: 'started', task_id: first.task_id });
    await store.scheduledAgents.settleFire(id, due(1), { outcome: 'failed', detail: 'late', task_id: null });
    await store.scheduledAgents.noteWaiting(id, due(1), 'late');
    await store.scheduledAgents.reopenFire(id, due(1));
    expect(await store.scheduledAgents.claimFire(id, due(1))).toEqual({ ...first, is_settled: true });
    const { items, total } = await store.scheduledAgents.listRuns(id, { limit: 1 });
    expect([items.map(({ due_at }) => due_at), total]).toEqual([[due(2).toISOString()], 2]);
    const earlier = await store.scheduledAgents.listRuns(id, { limit: 7, before: due(2).toISOString() });
    expect(earlier.items).toMatchObject([{ due_at: due(1).toISOString(), outcome: 'started', detail: null, task_status: null }]);
  });

  it.each(['missed', 'skipped', 'failed'])('serves a due time that was %s again, with another task', async (outcome) => {
    const { id } = await make();
    const first = await store.scheduledAgents.claimFire(id, due(1));
    await store.scheduledAgents.settleFire(id, due(1), { outcome, detail: 'so', task_id: null });
    if (outcome !== 'missed') expect((await store.scheduledAgents.claimFire(id, due(1))).is_settled).toBe(true);
    await store.scheduledAgents.reopenFire(id, due(1));
    const again = await store.scheduledAgents.claimFire(id, due(1));
    expect([again.is_settled, again.task_id === first.task_id]).toEqual([false, false]);
  });

  it('is disabled with a reason only if nobody has changed it for a while', async () => {
    const { id } = await make();
    const disable = () => store.scheduledAgents.disableUnchanged(id, { grace_ms: MINUTE, reason: 'Paused in the engine' });
    expect(await disable()).toBe(false);
    await here.sql('UPDATE scheduled_agents SET updated_at = $2 WHERE id = $1', id, ago(2 * MINUTE));
    expect([await disable(), await disable()]).toEqual([true, false]);
    expect(await store.scheduledAgents.find(id)).toMatchObject({ enabled: false, disabled_reason: 'Paused in the engine' });
  });

  it('keeps the token of who saved it last, sealed, and forgets it without counting as changed', async () => {
    const row = await make();
    expect(Buffer.from(row.caller_token!).toString('latin1')).not.toContain('hunter2');
    expect(store.scheduledAgents.unsealToken(row)).toBe('hunter2-of-alice');
    const changed = await store.scheduledAgents.update(
      row.id,
      { prompt: 'Stay.' },
      { access_token: 'another-token', service_key_id: null },
    );
    expect(store.scheduledAgents.unsealToken(changed)).toBe('another-token');
    await store.scheduledAgents.forgetToken(row);
    expect(store.scheduledAgents.unsealToken((await store.scheduledAgents.find(row.id))!)).toBe('another-token');
    await store.scheduledAgents.forgetToken(changed);
    const forgotten = (await store.scheduledAgents.find(row.id))!;
    expect([store.scheduledAgents.unsealToken(forgotten), forgotten.updated_at]).toEqual([null, changed.updated_at]);
  });

  it('notes the due times since its last change that nobody can serve any more, each once', async () => {
    const { id } = await make({ catchup_window_seconds: 600, jitter_seconds: 60 });
    const changed_at = new Date(Date.UTC(2026, 1, 1, 0, 30));
    await here.sql('UPDATE scheduled_agents SET updated_at = $2 WHERE id = $1', id, changed_at);
    await store.scheduledAgents.claimFire(id, due(2));
    const row = (await store.scheduledAgents.find(id))!;
    // Of four o'clock, the engine may still make up for 600 s, 60 s of jitter and a minute of grace.
    const late = due(4).getTime() + 720 * SECOND;
    await store.scheduledAgents.noteMissed(row, late - SECOND);
    const missed = async () =>
      (await store.scheduledAgents.listRuns(id, { limit: 9 })).items
        .filter(({ outcome }) => outcome === 'missed')
        .map(({ due_at }) => due_at);
    expect(await missed()).toEqual([due(3).toISOString(), due(1).toISOString()]);
    await store.scheduledAgents.noteMissed(row, late);
    expect(await missed()).toEqual([due(4).toISOString(), due(3).toISOString(), due(1).toISOString()]);
    await store.scheduledAgents.noteMissed({ ...row, enabled: false }, late + 9 * HOUR);
    expect(await missed()).toHaveLength(3);
  });

  it('shows its next time only while it is enabled, and no interval besides a cron expression', async () => {
    const row = await make();
    expect(store.scheduledAgents.toShown(row)).toMatchObject({ interval_value: 1, next_run_at: expect.any(String) });
    expect(store.scheduledAgents.toShown({ ...row, enabled: false })).toMatchObject({ next_run_at: null });
    const cron = store.scheduledAgents.toShown({ ...row, cron: '7 3 * * *', interval_value: 10_000, interval_unit: 'weeks' });
    expect(cron).toMatchObject({ cron: '7 3 * * *', interval_value: null, interval_unit: null });
    expect(Object.keys(cron).filter((name) => /token|key_id|owner/.test(name))).toEqual([]);
  });
});

describe('an evaluation', () => {
  const begin = async (prompts: readonly string[], access_token: string | null = null) => {
    const workflow_id = await here.workflow();
    const dataset = await here.alice.ok(here.alice.post('/api/datasets', { name: here.unique('set') }), 201);
    for (const prompt of prompts)
      await here.alice.ok(here.alice.post(`/api/datasets/${dataset.id}/items`, { prompt, expected: prompt }), 201);
    const version = (await store.evaluations.version(workflow_id, undefined))!;
    const { alice } = here.people;
    const values = {
      dataset_id: dataset.id,
      workflow_id,
      graders: [{ type: 'exact' as const, ignore_case: false }],
      parallel: 2,
    };
    return store.evaluations.create({
      ...values,
      ...{ effects: 'stub', version, created_by: alice.subject, owner_login: alice.login, access_token, service_key_id: null },
    } as never);
  };

  it('keeps the token of its caller sealed while it runs, and not afterwards', async () => {
    const { id } = await begin(['a'], 'hunter2-of-alice');
    expect(await store.evaluations.leftToRun(id)).toEqual({
      ...{ owner: here.people.alice.subject, service_key_id: null, access_token: 'hunter2-of-alice' },
    });
    await store.evaluations.end(id);
    expect(await store.evaluations.leftToRun(id)).toMatchObject({ access_token: null });
    expect(await store.evaluations.leftToRun(crypto.randomUUID())).toBeNull();
  });

  it('has a result for each item: open, claimed, or settled once', async () => {
    const { id: evaluation_id } = await begin(['a', 'b', 'c']);
    const items = await store.evaluations.open(evaluation_id);
    expect(items).toHaveLength(3);
    const place = { evaluation_id, item_id: items[1]! };
    const claimed = await store.evaluations.claim(place);
    expect((await store.evaluations.claim(place))?.task_id).toBe(claimed?.task_id);
    expect(await store.evaluations.open(evaluation_id)).toEqual(items);
    const grades = [{ grader: 'exact', passed: true, reason: null }] as never;
    await store.evaluations.settle(place, { status: 'passed', grades, error: null });
    await store.evaluations.settle(place, { status: 'failed', grades: [], error: 'late' });
    expect(await store.evaluations.claim(place)).toBeUndefined();
    expect(await store.evaluations.open(evaluation_id)).toEqual([items[0], items[2]]);
    const of = async (status?: string) =>
      (await store.evaluations.results(evaluation_id, { limit: 9, status })).items.map(
        ({ prompt, status }) => `${prompt} ${status}`,
      );
    expect([await of(), await of('passed')]).toEqual([['c pending', 'b passed', 'a pending'], ['b passed']]);
    const first = await store.evaluations.results(evaluation_id, { limit: 2 });
    const second = await store.evaluations.results(evaluation_id, { limit: 2, cursor: first.next! });
    expect([first.total, second.items.map(({ prompt }) => prompt), second.next]).toEqual([3, ['a'], null]);
  });

  it('is discarded only before it has begun, and not if its request was repeated', async () => {
    const [fresh, begun, repeated, answered] = [await begin(['a']), await begin(['a']), await begin(['a']), await begin(['a'])];
    const [item_id = ''] = await store.evaluations.open(begun.id);
    await store.evaluations.claim({ evaluation_id: begun.id, item_id });
    await here.sql(
      `INSERT INTO idempotency_keys (principal, key, request_hash, reserved_id, claims) VALUES ('p', $1, 'h', $2, 2)`,
      here.unique('again'),
      repeated.id,
    );
    await here.sql(
      `INSERT INTO idempotency_keys (principal, key, request_hash, reserved_id, reply) VALUES ('p', $1, 'h', $2, '{}')`,
      here.unique('answered'),
      answered.id,
    );
    expect(await store.evaluations.discard(answered.id, 1)).toBe(false);
    expect(await store.evaluations.discard(repeated.id, 1)).toBe(false);
    expect(await store.evaluations.discard(begun.id)).toBe(false);
    expect(await store.evaluations.discard(fresh.id)).toBe(true);
    expect([await store.evaluations.find(fresh.id), (await store.evaluations.find(begun.id))?.status]).toEqual([null, 'running']);
    expect(await store.evaluations.discard(repeated.id, 2)).toBe(true);
  });
});

describe('a conversation', () => {
  it('belongs to one person, and has the items that wait in both orders, from a position on', async () => {
    const owner = { owner: 'p', owner_login: 'p', metadata: { a: '7' } };
    const { id } = await store.conversations.create(owner);
    expect([(await store.conversations.find(id, 'p'))?.id, await store.conversations.find(id, 'q')]).toEqual([id, null]);
    const items = ['a', 'b', 'c'].map((content) => ({ id: crypto.randomUUID(), item: { type: 'message', content } }));
    await store.conversations.add(id, items, 'p');
    const list = async (query: object) =>
      (await store.conversations.listWaiting(id, { order: 'asc', ...query })).map(
        ({ item: one }) => (one as { content: string }).content,
      );
    const { position } = (await store.conversations.findWaiting(id, items[1]!.id))!;
    expect([await list({}), await list({ order: 'desc', limit: 2 })]).toEqual([
      ['a', 'b', 'c'],
      ['c', 'b'],
    ]);
    expect([await list({ after: position }), await list({ order: 'desc', after: position })]).toEqual([['c'], ['a']]);
    const other = await store.conversations.create(owner);
    expect(await store.conversations.removeWaiting(other.id, items[1]!.id)).toBe(false);
    expect(await store.conversations.removeWaiting(id, items[1]!.id)).toBe(true);
    expect([await list({}), await store.conversations.findWaiting(id, items[1]!.id)]).toEqual([['a', 'c'], null]);
  });
});

describe('a file of a prompt', () => {
  it('belongs to one person, and several are given in the order of their ids', async () => {
    const create = (name: string, created_by: string) =>
      store.attachments.create({ name, media_type: 'text/plain', content: Buffer.from(name), created_by });
    const [a, b, theirs] = [await create('a', 'p'), await create('bb', 'p'), await create('c', 'q')];
    expect([a.size, b.size]).toEqual([1, 2]);
    expect((await store.attachments.loadOwned([b.id, a.id, b.id], 'p')).map(({ name }) => name)).toEqual(['bb', 'a', 'bb']);
    expect((await store.attachments.contents([b.id, a.id])).map(({ content }) => Buffer.from(content).toString())).toEqual([
      'bb',
      'a',
    ]);
    await expect(store.attachments.loadOwned([a.id, theirs.id], 'p')).rejects.toMatchObject({ kind: 'not_found' });
    expect([await store.attachments.find(theirs.id, 'p'), await store.attachments.read(theirs.id, 'p')]).toEqual([null, null]);
    await expect(store.attachments.remove(theirs.id, 'p')).rejects.toMatchObject({ kind: 'not_found' });
    await store.attachments.remove(theirs.id, 'q');
    expect(await store.attachments.find(theirs.id, 'q')).toBeNull();
  });
});

describe('the files of a call', () => {
  it('are those of the attempt whose result is on record, whatever an attempt that was taken for lost still links', async () => {
    const task_id = await here.prompt(await here.workflow());
    const attempt = (attempts: number) => ({ task_id, step: 1, position: 0, attempts });
    const create = (name: string) =>
      store.attachments.create({ name, media_type: 'text/plain', content: Buffer.from(name), created_by: 'p' });
    const [first, second, third] = [await create('first'), await create('second'), await create('third')];
    const list = async () => (await store.attachments.listOfResult(attempt(1))).map(({ name }) => name).sort();
    await store.attachments.linkToResult(attempt(1), [first]);
    await store.attachments.linkToResult(attempt(2), [second, third]);
    expect(await list()).toEqual(['first', 'second', 'third']);
    await store.attachments.settleResult(attempt(2), true);
    expect(await list()).toEqual(['second', 'third']);
    // The other attempt ends late, and the record does not take its result.
    await store.attachments.linkToResult(attempt(1), [first, second]);
    await store.attachments.settleResult(attempt(1), false);
    expect(await list()).toEqual(['second', 'third']);
    expect(await store.attachments.listOfResult({ ...attempt(1), position: 1 })).toEqual([]);
  });
});

describe('a memory', () => {
  const write = async (values: object) => {
    const memory = { agent_id: '', scope: 'agent', key: here.unique('k'), value: 'tea', created_by: 'p', ...values };
    return store.memories.upsert(memory as never);
  };

  it('is there until its time, and for its owner alone', async () => {
    const agent_id = await here.agent();
    const open = await write({ agent_id, ttl: ahead(MINUTE).toISOString() });
    const owned = await write({ agent_id, owner: 'p' });
    // The last one: to write a memory deletes those whose time is over.
    const over = await write({ agent_id, ttl: ago(SECOND).toISOString() });
    expect([await store.memories.find(over.id), (await store.memories.find(open.id))?.id]).toEqual([null, open.id]);
    const list = async (key: string, is_admin = false) =>
      (await store.memories.list({ limit: 9, agent_id } as never, { key, is_admin })).items.map(({ id }) => id);
    expect(await list('p')).toEqual([owned.id, open.id]);
    expect([await list('q'), await list('q', true)]).toEqual([[open.id], [owned.id, open.id]]);
  });

  it('is found by any of its words, in its scope', async () => {
    const agent_id = await here.agent();
    await write({ agent_id, value: 'green tea' });
    const everywhere = await write({ agent_id, scope: 'global', value: 'black tea' });
    const search = async (query: string, scope?: string) =>
      (await store.memories.search({ agent_id, query, scope, viewer: 'p', limit: 9 })).map(({ value }) => value).sort();
    expect([await search('TEA! or water?'), await search('tea', 'agent')]).toEqual([
      expect.arrayContaining(['black tea', 'green tea']),
      ['green tea'],
    ]);
    expect([await search('water'), await search('…')]).toEqual([[], []]);
    // Other files of this process share the installation.
    await store.memories.remove(everywhere.id);
  });
});

describe('an alert', () => {
  it('that is disabled fires no longer, and is listed for its owner', async () => {
    const owner = here.unique('owner');
    const values = {
      measure: 'spend' as const,
      threshold: 7,
      window_minutes: 11,
      min_runs: 3,
      workflow_id: null,
      webhook_url: null,
    };
    const create = (name: string, of = owner) =>
      store.alerts.create({ ...values, name, owner: of, channels: [], enabled: true, muted_until: null } as never);
    const [a, b] = [await create('Spent much'), await create('Spent more')];
    await create('Spent', 'somebody else');
    await here.sql(`UPDATE alerts SET state = 'firing', state_since = $2 WHERE owner = $1`, owner, ago(HOUR));
    expect(await store.alerts.update(a.id, { threshold: 13 } as never)).toMatchObject({ state: 'firing', threshold: 13 });
    const disabled = await store.alerts.update(b.id, { enabled: false } as never);
    expect([disabled.state, Date.parse(disabled.state_since) > ago(MINUTE).getTime()]).toEqual(['ok', true]);
    const list = async (q?: string) => (await store.alerts.list({ owner, q, limit: 9 })).items.map(({ name }) => name);
    expect([await list(), await list('MUCH'), await store.alerts.countOwned(owner)]).toEqual([
      ...[['Spent more', 'Spent much'], ['Spent much'], 2],
    ]);
  });
});

describe('the queue of the audit', () => {
  const entry = (operation: string) => ({
    ...{ id: uuid(), principal: 'p', login: 'p', service_key_id: null, operation, scope: 'write', path: '/' },
    ...{ resource_type: 'x', resource_id: null, made_id: null, status: 200, request_id: 'r', address: '::1' },
  });
  const sent: string[][] = [];
  const send = (taken: boolean) => async (entries: readonly { operation: string }[]) => {
    sent.push(entries.map(({ operation }) => operation));
    return taken;
  };
  beforeEach(() => void sent.splice(0));

  it('sends the oldest entries, which stay until they were taken', async () => {
    await store.audit.add(['a', 'b', 'c'].map(entry) as never, { queued: true });
    await store.audit.add([entry('unqueued')] as never);
    expect(await store.auditQueue.sendNext(2, send(false))).toBe(0);
    expect(await store.auditQueue.sendNext(2, send(true))).toBe(2);
    expect(await store.auditQueue.sendNext(2, send(true))).toBe(1);
    expect(await store.auditQueue.sendNext(2, send(true))).toBe(0);
    expect(sent).toEqual([['a', 'b'], ['a', 'b'], ['c']]);
  });

  it('is sent by one process at a time, without entries that were removed', async () => {
    await here.sql('INSERT INTO audit_queue (entry_id) VALUES ($1)', uuid());
    await store.audit.add([entry('kept')] as never, { queued: true });
    await inTransaction(here.core.database.pool, async (other) => {
      await other.query(takeAuditTurn());
      expect(await store.auditQueue.sendNext(5, send(true))).toBeNull();
    });
    expect(await store.auditQueue.sendNext(5, send(true))).toBe(2);
    expect(sent).toEqual([['kept']]);
  });
});

describe('the demo model at another port', () => {
  const provider = async (values: object) =>
    (
      await here.alice.ok(
        here.alice.post('/api/providers', { name: here.unique('p'), provider_type: 'openai_compatible', ...values }),
        201,
      )
    ).id as string;
  const addresses = async (...ids: string[]) =>
    Promise.all(ids.map(async (id) => (await here.sql('SELECT base_url FROM providers WHERE id = $1', id))[0].base_url));
  const move = (url: string) => store.samples.moveDemoModel(url, { name: 'demo', model: 'perdura-demo' });
  const at = (port: number) => `http://127.0.0.1:${port}/v1`;

  it('moves the providers that name its address, and no other', async () => {
    await here.sql(`DELETE FROM installation_facts WHERE name = 'demo_model_url'`);
    await move(at(7_001));
    const mine = await provider({ base_url: at(7_001), default_model: 'perdura-demo' });
    const [elsewhere, far] = [await provider({ base_url: at(7_003) }), await provider({ base_url: 'https://m.example/v1' })];
    await here.alice.ok(here.alice.post('/api/tokens', { name: `key-${mine}`, value: 'hunter2-hunter2' }), 201);
    const keyed = await provider({ base_url: at(7_001), api_key_token_name: `key-${mine}` });
    await move(at(7_001));
    await move(at(7_019));
    expect(await addresses(mine, elsewhere, far, keyed)).toEqual([at(7_019), at(7_003), 'https://m.example/v1', at(7_001)]);
    await here.sql(`DELETE FROM installation_facts WHERE name = 'demo_model_url'`);
  });
});

describe('what was deleted meanwhile', () => {
  const gone = uuid();
  const file = { id: gone, name: 'f', media_type: 'text/plain', size: 1, sha256: '' };
  const inDatabase = (work: Parameters<typeof inTransaction>[1]) => inTransaction(here.core.database.pool, work);

  it.each<[string, () => Promise<unknown>]>([
    ['a resource with secrets', () => store.mcpServers.update(gone, { name: 'x' }, 'p')],
    [
      'the workflow of a fork',
      () => pinForkParts(here.core.database.pool, { workflow_id: gone, provider_id: null, custom_tool_ids: [] }),
    ],
    ['a file of a prompt', () => inDatabase((on) => linkAttachments(on, gone, [file]))],
  ])('is not found: %s', async (_, work) => {
    await expect(work()).rejects.toMatchObject({ kind: 'not_found' });
  });

  it('is not found: a file of a conversation, whose item is not added then', async () => {
    const { id } = await store.conversations.create({ metadata: {}, owner: 'p', owner_login: 'p' });
    const items = [{ id: uuid(), item: { type: 'message', content: 'a' }, file_ids: [gone] }];
    const adding = store.conversations.add(id, items, 'p');
    await expect(adding).rejects.toMatchObject({ kind: 'not_found' });
    expect(await store.conversations.listWaiting(id, { order: 'asc' })).toEqual([]);
    expect(await store.conversations.update(gone, {})).toBeUndefined();
  });

  it('has no secrets to clear, no message to send, no version and no definition', async () => {
    expect(await store.mcpServers.clears(gone, { connection_config: {} }, 'p')).toEqual([]);
    expect(await store.webhooks.open(gone)).toBeNull();
    expect(await store.datasets.findItem(gone)).toBeNull();
    expect(await store.versions.findNumber(gone, 'a hash')).toBeNull();
    expect(await store.definitions.find('a hash')).toBeNull();
    await expect(store.definitions.get('a hash')).rejects.toThrow('The definition a hash is missing from the database');
  });
});

it('a workflow stays while a run of it is in progress, also if the run began since somebody looked', async () => {
  const id = await here.workflow();
  await here.sql('UPDATE workflows SET active_task_id = $2 WHERE id = $1', id, uuid());
  await expect(store.workflows.remove(id)).rejects.toMatchObject({ code: 'workflow_running' });
  await here.sql('UPDATE workflows SET active_task_id = NULL WHERE id = $1', id);
  await store.workflows.remove(id);
  expect(await store.workflows.findOwner(id)).toBeUndefined();
});

it('a token whose key is missing does not stop a run that has not used it', async () => {
  const name = here.unique('sealed').replaceAll(/\W+/g, '-');
  await here.alice.ok(here.alice.post('/api/tokens', { name, value: 'hunter2-hunter2' }), 201);
  await here.sql(`UPDATE stored_tokens SET key_id = 'lost' WHERE name = $1`, name);
  const [{ created_by }] = await here.sql('SELECT created_by FROM stored_tokens WHERE name = $1', name);
  await store.tokens.openForRedaction(uuid(), [name], created_by);
  await here.sql('DELETE FROM stored_tokens WHERE name = $1', name);
});
