import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Identity } from '../../src/identity/cached-identity.ts';
import { clientOf } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { until } from '../support/until.ts';

const NAMED: Record<string, Identity['claimed_role']> = {};

/** An issuer: a token `<login>.<n>` is of that person, who has the role that is named for the token. */
const issuer = async (token: string): Promise<Identity | null> => {
  const [login = ''] = token.split('.');
  const claimed_role = NAMED[token];
  return { provider: 'oidc', subject: login, login, ...(claimed_role ? { claimed_role } : {}) };
};

let here: TestInstallation;
beforeAll(async () => {
  const env = { OIDC_ROLE_CLAIM: 'roles' };
  here = await startTestInstallation({ env, worker: false, setting: { identity_providers: [issuer] } });
});
afterAll(() => here?.stop());

const signedIn = async (token: string, role: Identity['claimed_role']) => {
  NAMED[token] = role;
  const client = clientOf(here.url, token);
  const { id } = await client.ok(client.get('/api/me'));
  await until(
    'the note of the sign-in',
    async () => ((await here.core.store.principals.find(id))?.claimed_role ?? undefined) === role,
  );
  return client;
};
const keyOf = async (maker: ReturnType<typeof clientOf>, values: object) =>
  clientOf(here.url, (await maker.ok(maker.post('/api/keys', { name: 'k', ...values }), 201)).key);
const roleOf = async (client: ReturnType<typeof clientOf>) => (await client.ok(client.get('/api/me'))).role;

it('a service key may do what the issuer named last for its owner, and no more', async () => {
  const key = await keyOf(await signedIn('ada.1', 'editor'), {});
  expect(await roleOf(key)).toBe('editor');
  const skill = { name: 'by a key', instructions: 'x' };
  await key.ok(key.post('/api/skills', skill), 201);
  await signedIn('ada.2', 'viewer');
  await until('the end of the role', async () => (await roleOf(key)) === 'viewer');
  expect((await key.post('/api/skills', skill)).status).toBe(403);
});

it('the key of an administrator by claim is one, and that of another person is not', async () => {
  const bob = await keyOf(await signedIn('bob.1', 'administrator'), { role: 'administrator' });
  const eve = await signedIn('eve.1', 'editor');
  expect(await roleOf(bob)).toBe('administrator');
  expect((await eve.post('/api/keys', { name: 'k', role: 'administrator' })).status).toBe(422);
  expect(await roleOf(await keyOf(eve, {}))).toBe('editor');
});
