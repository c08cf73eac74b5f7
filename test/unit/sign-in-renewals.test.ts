import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { expect, it } from 'vitest';
import { OutageError } from '../../src/domain/outages.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { type McpSignInSecrets, mcpSignInStore } from '../../src/store/secrets/mcp-sign-ins.ts';

const PLACE = { server_id: 's', principal: 'local:alice' };
const SECRETS = {
  url: 'https://mcp.test',
  client: { client_id: 'c' },
  tokens: { access_token: 'a', token_type: 'bearer' },
} as McpSignInSecrets;

/** A sign-in that is leased, in a database whose writes of renewed tokens end in these ways, one after the other. */
async function leasedSignIn(...writes: (() => object[])[]) {
  let sign_in: object | undefined;
  const upsert = async ({ create }: { create: object }) => {
    sign_in = create;
  };
  const query = async ({ name }: pg.QueryConfig) => ({ rows: name === 'renew_mcp_sign_in' ? writes.shift()!() : [sign_in] });
  const database = { pool: { query }, prisma: { mcpSignIn: { upsert } } };
  const store = mcpSignInStore(database as never, keyRing(`k:${randomBytes(32).toString('base64')}`));
  await store.save(PLACE, SECRETS);
  return (await store.lease(PLACE))!;
}
const failing = (error: Error) => () => {
  throw error;
};
const down = () => new OutageError({ code: 'database_unavailable', sentence: 'The database is unreachable' });

it('renewed tokens of a sign-in are written through an outage', async () => {
  const { renew } = await leasedSignIn(failing(down()), failing(down()), () => [{}]);
  expect(await renew(SECRETS)).toBe(true);
});

it('a fault of the program ends the renewal at once', async () => {
  const fault = new TypeError('ours');
  const { renew } = await leasedSignIn(failing(fault), () => [{}]);
  await expect(renew(SECRETS)).rejects.toBe(fault);
});
