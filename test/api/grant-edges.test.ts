import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { HOLDERS, type SecretWorld, startSecretWorld, unique } from '../support/contract/secret-world.ts';

let world: SecretWorld;
beforeAll(async () => {
  world = await startSecretWorld({ worker: false, env: { SHARED_WRITE: 'everyone' } });
});
afterAll(() => world.stop());

const mcp = HOLDERS.find(({ kind }) => kind === 'mcp_server')!;
const workflow = HOLDERS.find(({ kind }) => kind === 'workflow')!;

async function tokenOf(as: Client, name = unique('key')) {
  const value = `canary-${name}-of-the-edges`;
  const { id } = await as.ok(as.post('/api/tokens', { name, value }), 201);
  return { name, value, path: `/api/tokens/${id}` };
}
const listOf = async (as: Client, path: string) => (await as.ok(as.get(path))) as unknown as Record<string, any>[];

it('a token is not sent back to a destination that its owner has left, no matter who points the resource there', async () => {
  const { alice, bob } = world;
  const token = await tokenOf(alice);
  const held = await mcp.make(world, alice, token.name);
  const { connection_config } = await alice.ok(alice.get(held.path));
  await alice.ok(alice.put(held.moves.path, held.moves.values));
  expect(await held.use(alice, token.value)).toBe('arrived');
  await bob.ok(bob.put(held.path, { connection_config }));
  expect(await held.use(alice, token.value)).toBe('secret_not_granted');
});

it('a grant to one resource does not cover another with the same destination', async () => {
  const { alice, bob } = world;
  const token = await tokenOf(alice);
  const [own, same] = [await mcp.make(world, alice, token.name), await mcp.make(world, bob, token.name)];
  expect(await own.use(alice, token.value)).toBe('arrived');
  expect(await same.use(alice, token.value)).toBe('secret_not_granted');
});

it('grants end when their owner saves the resource with another destination', async () => {
  const { alice } = world;
  const token = await tokenOf(alice);
  const held = await mcp.make(world, alice, token.name);
  await alice.ok(alice.put(held.moves.path, held.moves.values));
  const grants = await listOf(alice, `${token.path}/grants`);
  expect(grants.map(({ status }) => status)).toEqual(['granted']);
});

it.each(HOLDERS)('grants are deleted with their resource: a $kind', async ({ make }) => {
  const { alice } = world;
  const token = await tokenOf(alice);
  const held = await make(world, alice, token.name);
  const grants = async () =>
    (await world.core.database.pool.query('SELECT 1 FROM secret_grants WHERE resource_id = $1', [held.id])).rowCount;
  expect(await grants()).toBe(1);
  await alice.ok(alice.del(held.path), 204);
  expect(await grants()).toBe(0);
});

it("grants are taken back by their token's owner alone, and by the path of that token", async () => {
  const { alice, bob } = world;
  const [alices, bobs, other] = [await tokenOf(alice), await tokenOf(bob), await tokenOf(alice)];
  const held = await mcp.make(world, alice, alices.name);
  const [grant] = await listOf(alice, `${alices.path}/grants`);
  expect((await bob.del(`${alices.path}/grants/${grant?.id}`)).status).toBe(403);
  expect((await bob.del(`${bobs.path}/grants/${grant?.id}`)).status).toBe(404);
  expect((await alice.del(`${other.path}/grants/${grant?.id}`)).status).toBe(404);
  expect(await held.use(alice, alices.value)).toBe('arrived');
});

it('grants show no workflow of somebody else that names the token', async () => {
  const { alice, bob } = world;
  const token = await tokenOf(alice);
  await workflow.make(world, bob, token.name);
  expect(await listOf(alice, `${token.path}/grants`)).toEqual([]);
  await workflow.make(world, alice, token.name);
  expect(await listOf(alice, `${token.path}/grants`)).toMatchObject([{ status: 'granted', resource_type: 'workflow' }]);
});

it('the trail of a token does not begin with the uses of another token that had its name', async () => {
  const { alice, bob } = world;
  const first = await tokenOf(alice);
  const held = await mcp.make(world, alice, first.name);
  await held.use(alice, first.value);
  expect(await listOf(alice, `${first.path}/uses`)).toHaveLength(1);
  await world.core.store.tokens.remove(first.path.split('/').at(-1)!);
  const second = await tokenOf(bob, first.name);
  expect(await listOf(bob, `${second.path}/uses`)).toEqual([]);
});

it('an administrator sees of a token neither what it is for nor by what values can be compared', async () => {
  const { alice, root } = world;
  const name = unique('key');
  const values = { name, value: 'canary-of-the-description', description: 'for the account 4711' };
  const { id } = await alice.ok(alice.post('/api/tokens', values), 201);
  expect(await root.ok(root.get(`/api/tokens/${id}`))).toMatchObject({ name, description: '', fingerprint: '', used_by: [] });
  const listed = (await listOf(root, '/api/tokens?limit=1000')).find((token) => token.id === id);
  expect(listed).toMatchObject({ name, description: '', fingerprint: '', used_by: [] });
});
