import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDatabase } from '../../src/store/database/database.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { webhookSecretStore } from '../../src/store/secrets/webhook-secrets.ts';
import { rotateKeys } from '../../src/store/upkeep/rotation.ts';
import { startTestInstallation, type TestInstallation, WEBHOOK_SECRET } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { type Received, startReceiver } from '../support/peers/receiver.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  here = await startTestInstallation();
  receiver = await startReceiver();
  here.model.always(says('done'));
});
afterAll(async () => {
  await receiver.stop();
  await here.stop();
});

/** The message of a run of Alice's. */
async function message(): Promise<Received> {
  const before = receiver.received.length;
  const task_id = await here.prompt(await here.workflow({ workflow: { webhook_url: receiver.url } }));
  await here.ended(task_id);
  return until('the message', async () => receiver.received[before]);
}

/** Whether a receiver that has this secret takes the message, by a library that is not ours. */
function takes(secret: string, { body, headers }: Received): boolean {
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>);
    return true;
  } catch {
    return false;
  }
}

const rotate = async (client = here.alice) =>
  (await client.ok(client.post('/api/webhook-secret/rotate'), 201)) as { secret: string };

it('signs with a secret of each owner’s own, two of them valid at a time', async () => {
  expect(await here.alice.ok(here.alice.get('/api/webhook-secret'))).toMatchObject({ source: 'installation', fingerprint: null });
  expect(takes(WEBHOOK_SECRET, await message())).toBe(true);

  const bobs = await rotate(here.bob);
  const first = await rotate();
  expect(first).toMatchObject({ source: 'own', secret: expect.stringMatching(/^whsec_.{40,}$/) });
  const one = await message();
  expect([WEBHOOK_SECRET, first.secret, bobs.secret].map((secret) => takes(secret, one))).toEqual([true, true, false]);

  const second = await rotate();
  const two = await message();
  expect([WEBHOOK_SECRET, first.secret, second.secret].map((secret) => takes(secret, two))).toEqual([false, true, true]);
  expect(two.headers['webhook-signature']).toMatch(/^v1,\S+ v1,\S+$/);

  const shown = await here.alice.get('/api/webhook-secret');
  expect(shown.body).toMatchObject({ source: 'own', previous_valid_until: expect.stringMatching(/Z$/) });
  expect(JSON.stringify(shown.body)).not.toContain('whsec_');
});

it('lets the secret before expire, and keeps none in clear', async () => {
  const [before, now] = [await rotate(), await rotate()];
  const client = new pg.Client(here.setting.database_url);
  await client.connect();
  await client.query("UPDATE webhook_secrets SET previous_until = now() - interval '1 second'");
  const { rows } = await client.query<{ sealed: Uint8Array }>('SELECT sealed FROM webhook_secrets');
  await client.end();
  expect(rows.length).toBeGreaterThan(0);
  for (const { sealed } of rows) expect(Buffer.from(sealed).toString('latin1')).not.toContain('whsec_');
  const sent = await message();
  expect([before.secret, now.secret].map((secret) => takes(secret, sent))).toEqual([false, true]);
  expect((await here.alice.get('/api/webhook-secret')).body.previous_valid_until).toBeNull();
});

it('moves both secrets to a new key, so that the old one can be dropped', async () => {
  const [before, now] = [await rotate(), await rotate()];
  const database = openDatabase({ url: here.setting.database_url });
  try {
    const fresh = `fresh:${randomBytes(32).toString('base64')}`;
    await rotateKeys(database, keyRing(`${fresh},${here.setting.encryption_keys}`));
    const secrets = webhookSecretStore(database, keyRing(fresh));
    expect(await secrets.valid('local:alice', WEBHOOK_SECRET)).toEqual([now.secret, before.secret]);
  } finally {
    await database.close();
  }
});
