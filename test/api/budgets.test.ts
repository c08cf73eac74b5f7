import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, clientOf } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  // Bob administers.
  here = await startTestInstallation({ worker: false, env: { ADMIN_SUBJECTS: 'local:bob' } });
  await here.alice.ok(here.alice.get('/api/me'));
  await here.bob.ok(here.bob.get('/api/me'));
});
beforeEach(() => here.sql('DELETE FROM budgets'));
afterAll(() => here?.stop());

const DAY = { name: 'Day', period: 'day', limit_usd: 53 };
const create = (who: Client, values: object) => who.post('/api/budgets', { ...DAY, ...values });
const made = async (who: Client, values: object) => (await who.ok(create(who, values), 201)) as Record<string, any>;
const faults = (reply: { body: any }) => reply.body.errors?.map(({ path, message }: any) => [path, message]);
const names = async (who: Client) => (await who.ok(who.get('/api/budgets'))).map(({ name }: any) => name);

describe('a budget', () => {
  it('has one limit, in dollars or in tokens, whose unit stays', async () => {
    const one = [['limit_usd', 'Set exactly one of `limit_usd` and `limit_tokens`']];
    expect(faults(await create(here.alice, { scope: 'person', limit_tokens: 7 }))).toEqual(one);
    expect(faults(await create(here.alice, { scope: 'person', limit_usd: null }))).toEqual(one);
    const { id } = await made(here.alice, { scope: 'person' });
    const change = (values: object) => here.alice.put(`/api/budgets/${id}`, values);
    expect(faults(await change({ limit_tokens: 7 }))).toEqual(one);
    expect(faults(await change({ limit_usd: null, limit_tokens: 7 }))).toEqual([
      ['limit_usd', 'The unit of a budget stays; make another budget for that'],
    ]);
    const changed = await here.alice.ok(change({ name: 'Other', limit_usd: 59, warn_at: [0.5], on_exhausted: 'refuse' }));
    expect(changed).toMatchObject({ name: 'Other', limit_usd: 59, limit_tokens: null, warn_at: [0.5], on_exhausted: 'refuse' });
    expect(changed).toMatchObject({ scope: 'person', subject_id: 'local:alice', created_by: 'local:alice', left: 59 });
  });

  it('counts the day, week or month of its time zone', async () => {
    const of = async (period: string, time_zone: string) => {
      const { period_starts_at, period_ends_at } = await made(here.alice, { scope: 'person', period, time_zone });
      return { from: new Date(period_starts_at), to: new Date(period_ends_at), days: days(period_starts_at, period_ends_at) };
    };
    const days = (from: string, to: string) => Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);
    const day = await of('day', 'Asia/Kolkata');
    expect([day.from.toISOString().slice(11), day.days]).toEqual(['18:30:00.000Z', 1]);
    const week = await of('week', 'UTC');
    expect([week.from.getUTCDay(), week.days]).toEqual([1, 7]);
    const month = await of('month', 'UTC');
    expect([month.from.getUTCDate(), month.to.getUTCDate()]).toEqual([1, 1]);
    expect(faults(await create(here.alice, { scope: 'person', time_zone: 'Mars/Olympus' }))).toEqual([
      ['time_zone', 'No time zone Mars/Olympus; name one such as Europe/Berlin'],
    ]);
  });
});

describe('the subject of a budget', () => {
  const UNKNOWN = '0197a0c4-0000-7000-8000-000000000099';

  it('is what is yours; administrators limit everything', async () => {
    const agent_id = await here.agent();
    const workflow_id = (await here.alice.ok(here.alice.post('/api/workflows', { agent_id }))).id;
    const { id: key_id } = await here.alice.ok(here.alice.post('/api/keys', { name: here.unique('key') }), 201);
    const schedule = {
      name: 's',
      workflow_id,
      prompt: 'x',
      interval_value: 1,
      interval_unit: 'weeks',
      start_at: '2999-01-01T00:00:00Z',
    };
    const { id: schedule_id } = await here.alice.ok(here.alice.post('/api/scheduled-agents', schedule), 201);
    const own = { workflow: workflow_id, service_key: key_id, schedule: schedule_id, person: 'local:alice' };
    const tokens = { limit_usd: null, limit_tokens: 53 };
    for (const [scope, subject_id] of Object.entries(own)) {
      await made(here.alice, { scope, subject_id, ...tokens });
      await made(here.bob, { scope, subject_id, ...tokens });
    }
    for (const values of [
      { scope: 'installation', ...tokens },
      { scope: 'agent', subject_id: agent_id, ...tokens },
    ]) {
      expect(await create(here.alice, values)).toMatchObject({ status: 403, body: { code: 'administrators_only' } });
      await made(here.bob, values);
    }
    expect(await create(here.alice, { scope: 'person', subject_id: 'local:bob' })).toMatchObject({ status: 403 });
    expect(await names(here.alice)).toHaveLength(10);
  });

  it('of someone else is refused, and one that does not exist is named', async () => {
    const bobs_agent = (await here.bob.ok(here.bob.post('/api/agents', { name: here.unique('agent') }), 201)).id;
    const subject_id = (await here.bob.ok(here.bob.post('/api/workflows', { agent_id: bobs_agent }))).id;
    expect(await create(here.alice, { scope: 'workflow', subject_id })).toMatchObject({
      status: 403,
      body: { detail: 'This workflow belongs to someone else' },
    });
    expect(faults(await create(here.alice, { scope: 'workflow', subject_id: UNKNOWN }))).toEqual([
      ['subject_id', `No workflow with id ${UNKNOWN}`],
    ]);
    expect(faults(await create(here.bob, { scope: 'agent', subject_id: UNKNOWN }))).toEqual([
      ['subject_id', `No agent with id ${UNKNOWN}`],
    ]);
    expect(faults(await create(here.bob, { scope: 'agent', subject_id: 'not an id' }))).toEqual([
      ['subject_id', 'No agent with id not an id'],
    ]);
    expect(faults(await create(here.bob, { scope: 'person', subject_id: 'local:nobody' }))).toEqual([
      ['subject_id', 'No person with id local:nobody'],
    ]);
    expect(faults(await create(here.alice, { scope: 'schedule' }))).toEqual([
      ['subject_id', 'Name the id of the schedule that it limits'],
    ]);
    expect(faults(await create(here.bob, { scope: 'installation', subject_id: UNKNOWN }))).toEqual([
      ['subject_id', 'A budget of the installation has no subject_id; leave it out'],
    ]);
  });
});

describe('the rights to a budget', () => {
  it('an administrator’s own is not shown to others, and what an administrator limits nobody else raises', async () => {
    const [mine, set, bobs] = [
      await made(here.alice, { scope: 'person', name: 'mine' }),
      await made(here.bob, { scope: 'person', subject_id: 'local:alice', name: 'set' }),
      await made(here.bob, { scope: 'person', name: 'bobs' }),
    ];
    expect(await names(here.alice)).toEqual(['set', 'mine']);
    expect(await names(here.bob)).toEqual(['bobs', 'set', 'mine']);
    const raise = { limit_usd: 1_009 };
    expect(await here.alice.get(`/api/budgets/${bobs.id}`)).toMatchObject({ status: 403 });
    expect(await here.alice.put(`/api/budgets/${bobs.id}`, raise)).toMatchObject({ status: 403 });
    expect(await here.alice.put(`/api/budgets/${set.id}`, raise)).toMatchObject({ body: { code: 'administrators_only' } });
    expect(await here.alice.del(`/api/budgets/${set.id}`)).toMatchObject({ status: 403 });
    await here.alice.ok(here.alice.put(`/api/budgets/${mine.id}`, raise));
    await here.bob.ok(here.bob.put(`/api/budgets/${set.id}`, raise));
    await here.bob.ok(here.bob.del(`/api/budgets/${mine.id}`), 204);
    expect(await names(here.alice)).toEqual(['set']);
  });

  it('ends with the hundredth that one person makes', async () => {
    await here.sql(
      `INSERT INTO budgets (id, name, scope, subject, period, time_zone, limit_tokens, warn_at, on_exhausted, created_by)
       SELECT gen_random_uuid(), 'many ' || n, 'person', 'local:alice', 'day', 'UTC', 7, '{}', 'wait', 'local:alice'
       FROM generate_series(1, 99) n`,
    );
    await made(here.alice, { scope: 'person', name: 'the last' });
    await made(here.bob, { scope: 'person', name: 'of another person' });
    expect(await create(here.alice, { scope: 'person', name: 'one more' })).toMatchObject({
      status: 409,
      body: {
        code: 'budgets_limit',
        detail: expect.stringMatching(/^You have made 100 budgets, the most that one person may make/),
      },
    });
  });

  it('a service key reads budgets and changes none, so that no program raises what limits it', async () => {
    const { id } = await made(here.alice, { scope: 'person' });
    const { key } = await here.alice.ok(here.alice.post('/api/keys', { name: here.unique('key') }), 201);
    const program = clientOf(here.url, key);
    expect(await program.ok(program.get(`/api/budgets/${id}`))).toMatchObject({ id });
    const refused = { status: 403, body: { code: 'budget_not_for_keys' } };
    expect(await create(program, { scope: 'person' })).toMatchObject(refused);
    expect(await program.put(`/api/budgets/${id}`, { limit_usd: 1_009 })).toMatchObject(refused);
    expect(await program.del(`/api/budgets/${id}`)).toMatchObject(refused);
  });
});
