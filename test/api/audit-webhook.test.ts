import { setTimeout as wait } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { AuditEntry } from '../../src/contracts/audit.ts';
import { readConfig } from '../../src/main/config.ts';
import { sweep } from '../../src/temporal/repair/retention.ts';
import type { Client } from '../support/client.ts';
import { daysAgo } from '../support/database/aged.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, freePort, startApiProcess } from '../support/machine/processes.ts';
import { type Received, startReceiver } from '../support/peers/receiver.ts';
import { until } from '../support/until.ts';

const SECRET = `whsec_${Buffer.alloc(24, 'a').toString('base64')}`;
const SHORT_MS = 30_000;

let here: TestInstallation;
let port: number;
let receiver: Awaited<ReturnType<typeof startReceiver>> | null = null;
const processes: Child[] = [];

beforeAll(async () => {
  here = await startTestInstallation({ worker: false, env: { ADMIN_SUBJECTS: 'local:bob' } });
  port = await freePort();
});
afterEach(async () => {
  for (const api of processes.splice(0)) await api.end('SIGKILL');
  await receiver?.stop();
  receiver = null;
});
afterAll(() => here?.stop());

const env = () => ({
  AUDIT_WEBHOOK_URL: `http://127.0.0.1:${port}/audit?key=hidden`,
  AUDIT_WEBHOOK_SECRET: SECRET,
  ADMIN_SUBJECTS: 'local:local',
});
async function startApi(): Promise<{ api: Child; client: Client }> {
  const started = await startApiProcess(here.setting, env());
  processes.push(started.api);
  return started;
}

const soon = (ask: () => boolean | Promise<boolean>) => until('what the webhook should do', async () => ask(), SHORT_MS);

let made = 0;
/** Leaves an entry in the audit, and returns its id. */
async function changes(client: Client): Promise<string> {
  const { id } = await client.ok(client.post('/api/skills', { name: `streamed ${++made}`, instructions: 'x' }), 201);
  const [entry] = (await here.bob.ok(here.bob.get(`/api/audit?resource_id=${id}`))) as unknown as AuditEntry[];
  return entry!.id;
}

/** The entries of a message whose signature is right. */
function verified({ headers, body }: Received): AuditEntry[] {
  const message = new Webhook(SECRET).verify(body, headers as Record<string, string>) as { type: string; entries: AuditEntry[] };
  expect(message.type).toBe('audit.entries');
  return message.entries;
}
const received = () => receiver!.received.flatMap(verified).map(({ id }) => id);
const queued = async () => (await here.core.database.pool.query('SELECT count(*)::int AS n FROM audit_queue')).rows[0].n;

describe('the webhook of the audit', { timeout: 120_000 }, () => {
  it('receives every entry in order, also those of a process that was killed while the receiver was down', async () => {
    const first = await startApi();
    const ids = [await changes(first.client), await changes(first.client)];
    await first.api.prints(
      /The audit was not sent to 127\.0\.0\.1:\d+ \(AUDIT_WEBHOOK_URL\): .*Its entries wait in the database/,
    );
    expect(first.api.output()).not.toContain('hidden');
    await first.api.end('SIGKILL');
    const second = await startApi();
    ids.push(await changes(second.client));
    receiver = await startReceiver({ port });
    ids.push(await changes(second.client));
    await soon(() => received().length >= ids.length);
    expect(received()).toEqual(ids);
    const [entry] = verified(receiver.received[0]!);
    const [listed] = (await here.bob.ok(here.bob.get('/api/audit?operation=create_skill&limit=1000'))) as unknown as [AuditEntry];
    expect(Object.keys(entry!).sort()).toEqual(Object.keys(listed).sort());
    await soon(async () => (await queued()) === 0);
  });

  it('receives again, with the same id, what it had taken when the sender was killed before it knew', async () => {
    receiver = await startReceiver({ port });
    receiver.holds();
    const first = await startApi();
    const id = await changes(first.client);
    await soon(() => receiver!.received.length === 1);
    await first.api.end('SIGKILL');
    receiver.holds(false);
    await startApi();
    await soon(() => receiver!.received.length === 2);
    const [once, again] = receiver.received;
    expect(verified(again!).map((entry) => entry.id)).toEqual([id]);
    expect(again!.headers['webhook-id']).toBe(once!.headers['webhook-id']);
    await soon(async () => (await queued()) === 0);
  });

  it('is sent by one of several processes at a time, in messages of a hundred entries at most', async () => {
    const apis = [await startApi(), await startApi()];
    for (let round = 0; round < 75; round++) await Promise.all(apis.map(({ client }) => changes(client)));
    const slow = await startReceiver({ port });
    slow.holds();
    await soon(() => slow.received.length > 0);
    // Each has something new to send, while one still waits for its answer.
    await Promise.all(apis.map(({ client }) => changes(client)));
    await wait(1_000);
    expect(slow.received).toHaveLength(1);
    await slow.stop();
    receiver = await startReceiver({ port });
    await soon(() => received().length >= 152);
    const sizes = receiver.received.map((message) => verified(message).length);
    expect(Math.max(...sizes)).toBe(100);
    expect(new Set(received()).size).toBe(152);
    await soon(async () => (await queued()) === 0);
    expect(received()).toHaveLength(152);
  });

  it('keeps nothing that retention has removed, and nothing without the setting', async () => {
    await changes(here.alice);
    expect(await queued()).toBe(0);
    const { pool } = here.core.database;
    await pool.query(`WITH aged AS (INSERT INTO audit_entries SELECT (jsonb_populate_record(e, jsonb_build_object('id', gen_random_uuid(),
      'at', now() - interval '40 days'))).* FROM audit_entries e LIMIT 2 RETURNING id) INSERT INTO audit_queue (entry_id) SELECT id FROM aged`);
    expect(await queued()).toBe(2);
    await sweep(here.core.store.retention.audit(daysAgo(30)), SHORT_MS);
    expect(await queued()).toBe(0);
  });
});

describe('the settings of the webhook', () => {
  const read = (settings: Record<string, string>) => () => readConfig(settings);

  it('are refused in a sentence when they cannot work', () => {
    const secret = { AUDIT_WEBHOOK_SECRET: SECRET };
    expect(read({ AUDIT_WEBHOOK_URL: 'ftp://host.example', ...secret })).toThrow(
      'AUDIT_WEBHOOK_URL=ftp://host.example is not valid: expected https://host.example/path, without a password',
    );
    expect(read({ AUDIT_WEBHOOK_URL: 'https://me:secret@host.example', ...secret })).toThrow(
      'AUDIT_WEBHOOK_URL=https://…@host.example is not valid',
    );
    const needed = 'expected whsec_ and at least 24 bytes in base64';
    expect(read({ AUDIT_WEBHOOK_URL: 'https://host.example' })).toThrow(
      `AUDIT_WEBHOOK_SECRET is not set: ${needed}, with which AUDIT_WEBHOOK_URL is signed`,
    );
    expect(read({ AUDIT_WEBHOOK_URL: 'https://host.example', AUDIT_WEBHOOK_SECRET: 'short' })).toThrow(
      `AUDIT_WEBHOOK_SECRET is not valid: ${needed}`,
    );
    expect(readConfig({ AUDIT_WEBHOOK_URL: 'https://host.example', ...secret }).AUDIT_WEBHOOK_URL).toBe('https://host.example');
  });
});
