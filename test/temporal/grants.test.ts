import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import {
  backwards,
  HOLDERS,
  resultOf,
  type SecretWorld,
  startSecretWorld,
  startTarget,
  unique,
} from '../support/contract/secret-world.ts';

let world: SecretWorld;
beforeAll(async () => {
  // Everyone may change what is shared, so that what holds is the grant and not the permission.
  world = await startSecretWorld({ env: { SHARED_WRITE: 'everyone' } });
});
afterAll(() => world.stop());

/** Alice's token, with a value that is found wherever it comes to. */
async function tokenOf(as = world.alice, more: object = {}) {
  const name = unique('key');
  const value = `canary-${name}-of-the-table`;
  const { id } = await as.ok(as.post('/api/tokens', { name, value, ...more }), 201);
  return { id: id as string, name, value };
}

/** Led elsewhere; what a workflow's overrides are sent to is a tool, and its workflow is saved by its owner alone. */
const move = async ({ moves }: { moves: { path: string; values: object } }, as = world.alice) =>
  as.ok(as.put(moves.path, moves.values));

describe.each(HOLDERS)('a secret of a $kind', ({ kind, make }) => {
  const mine = async (more: object = {}) => {
    const token = await tokenOf(world.alice, more);
    return { token, held: await make(world, world.alice, token.name) };
  };

  it('arrives where its owner sent it, and where they send it next', async () => {
    const { token, held } = await mine();
    expect(await held.use(world.alice, token.value)).toBe('arrived');
    await move(held);
    if (kind === 'workflow') {
      expect(await held.use(world.alice, token.value)).toBe('secret_not_granted');
      await world.alice.ok(world.alice.put(held.path, { title: 'saved again' }));
    }
    expect(await held.use(world.alice, token.value)).toBe('arrived');
  });

  it.each(['bob', 'root'] as const)(
    'stays with its owner when %s changes the destination, until its owner saves it again',
    async (who) => {
      const { token, held } = await mine();
      await move(held, world[who]);
      expect(await held.use(world.alice, token.value)).toBe('secret_not_granted');
      await world.alice.ok(world.alice.put(held.path, kind === 'workflow' ? { title: 'seen' } : { description: 'seen' }));
      expect(await held.use(world.alice, token.value)).toBe('arrived');
    },
  );

  it('opens for others only while it is shared', async () => {
    const { token, held } = await mine();
    const others = kind === 'workflow' ? '403' : 'secret_not_granted';
    expect(await held.use(world.bob, token.value)).toBe(others);
    await world.alice.ok(world.alice.put(`/api/tokens/${token.id}`, { shared: true }));
    expect(await held.use(world.bob, token.value)).toBe(kind === 'workflow' ? '403' : 'arrived');
    await move(held, world.bob);
    expect(await held.use(world.bob, token.value)).toBe(others);
  });

  it('may be stored after the resource that names it was saved', async () => {
    const name = unique('later');
    const held = await make(world, world.alice, name);
    const sentence = `There is no stored token named ${name}, which the .+ names; store one under that name, or name another in the`;
    expect(await held.use(world.alice, 'nothing')).toMatch(new RegExp(sentence));
    await world.alice.ok(world.alice.post('/api/tokens', { name, value: `canary-${name}-of-the-table` }), 201);
    expect(await held.use(world.alice, `canary-${name}-of-the-table`)).toBe('arrived');
  });

  it('is not a secret of the same name that somebody else stored', async () => {
    const { token, held } = await mine();
    await world.core.store.tokens.remove(token.id);
    const value = 'canary-of-the-next-owner';
    await world.bob.ok(world.bob.post('/api/tokens', { name: token.name, value, shared: true }), 201);
    expect(await held.use(world.alice, value)).toBe('secret_not_granted');
    if (kind !== 'workflow') expect(await held.use(world.bob, value)).toBe('secret_not_granted');
  });

  it('does not come to a resource of somebody else by its name', async () => {
    const token = await tokenOf();
    const held = await make(world, world.bob, token.name);
    if (kind !== 'workflow') expect(await held.use(world.alice, token.value)).toBe('secret_not_granted');
    await world.alice.ok(world.alice.put(`/api/tokens/${token.id}`, { shared: true }));
    expect(await held.use(world.bob, token.value)).toBe('secret_not_granted');
  });
});

describe('the secret of a knowledge source', () => {
  const ASKED = 'where do the otters sleep';
  /** Every way that searches a source, or tries to: each returns whether the secret was sent to it. */
  const WAYS: Record<string, (as: Client, id: string) => Promise<unknown>> = {
    test: (as, id) => as.post(`/api/knowledge-sources/${id}/test`),
    query: (as, id) => as.ok(as.post('/api/knowledge-items/query', { query: ASKED, source_ids: [id] })),
    async run(as, id) {
      const provider = { name: unique('provider '), provider_type: 'openai_compatible', base_url: world.model.url };
      const { id: provider_id } = await as.ok(as.post('/api/providers', { ...provider, default_model: 's' }), 201);
      const agent = { name: unique('agent '), provider_id, knowledge_source_ids: [id] };
      const { id: agent_id } = await as.ok(as.post('/api/agents', agent), 201);
      const { id: workflow_id } = await as.ok(as.post('/api/workflows', { agent_id }), 201);
      const { task_id } = await as.ok(as.post(`/api/workflows/${workflow_id}/prompt`, { prompt: ASKED }), 201);
      await as.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`);
    },
  };

  it.each(Object.entries(WAYS))('is sent for its owner, and for others only while it is shared: %s', async (_way, search) => {
    const token = await tokenOf();
    const { id } = await HOLDERS.find(({ kind }) => kind === 'knowledge_source')!.make(world, world.alice, token.name);
    const isSentFor = async (as: Client) => {
      world.target.seen.length = 0;
      await search(as, id);
      return world.target.got(token.value, '/a/');
    };
    expect(await isSentFor(world.alice)).toBe(true);
    expect(await isSentFor(world.bob)).toBe(false);
    await world.alice.ok(world.alice.put(`/api/tokens/${token.id}`, { shared: true }));
    expect(await isSentFor(world.bob)).toBe(true);
    await world.alice.ok(world.alice.put(`/api/tokens/${token.id}`, { shared: false }));
    expect([await isSentFor(world.bob), await isSentFor(world.root), await isSentFor(world.alice)]).toEqual([false, false, true]);
  });
});

describe('a run in progress', () => {
  /** A run of Alice's with a provider, a tool and an override that take secrets, parked before its tool is called. */
  async function parked() {
    const [key, secret, override] = [await tokenOf(), await tokenOf(), await tokenOf()];
    const name = unique('both_');
    const source = (tail: string) =>
      `import os\nENV = {"ONE": "a", "TWO": "b"}\nEFFECT = "read"\ndef ${name}() -> str:\n    return os.environ["ONE"][::-1] + os.environ["TWO"][::-1] + "${tail}"\n`;
    const { alice } = world;
    const env_config = { ONE: { token_name: secret.name }, TWO: { token_name: null } };
    const tool = await alice.ok(alice.post('/api/custom-tools', { name, source_code: source('old'), env_config }), 201);
    const workflow_id = await world.workflow({
      agent: { custom_tool_ids: [tool.id], approval_tools: [name] },
      workflow: { credential_overrides: { TWO: override.name } },
    });
    const { agent_id } = await alice.ok(alice.get(`/api/workflows/${workflow_id}`));
    const { provider_id } = await alice.ok(alice.get(`/api/agents/${agent_id}`));
    await alice.ok(alice.put(`/api/providers/${provider_id}`, { api_key_token_name: key.name }));
    const task_id = await world.prompt(workflow_id);
    await alice.events(`/api/workflows/${workflow_id}/stream?task_id=${task_id}`, {
      enough: ({ data }) => data.event === 'approval_requested',
    });
    return {
      task_id,
      workflow_id,
      key,
      async moved(as: typeof alice, elsewhere: string) {
        await as.ok(as.put(`/api/providers/${provider_id}`, { base_url: elsewhere }));
        await as.ok(as.put(`/api/custom-tools/${tool.id}`, { source_code: source('new') }));
      },
      async approved() {
        await alice.ok(alice.post(`/api/tasks/${task_id}/approvals/1-1`, { decision: 'approve' }));
        const task = await world.ended(task_id);
        const request = world.model.requests.at(-1);
        return { task, result: resultOf(world, name), request };
      },
      both: `${backwards(secret.value)}${backwards(override.value)}old`,
    };
  }

  it.each(['alice', 'bob'] as const)('keeps what it was pinned with and granted, although %s changes it', async (who) => {
    const run = await parked();
    const elsewhere = await startTarget();
    try {
      await run.moved(world[who], elsewhere.url);
      await world.alice.ok(world.alice.put(`/api/workflows/${run.workflow_id}`, { title: 'saved meanwhile' }));
      const { task, result, request } = await run.approved();
      expect(task).toMatchObject({ status: 'completed', error: null });
      expect(result).toContain(run.both);
      expect(request?.authorization).toBe(`Bearer ${run.key.value}`);
      expect(elsewhere.seen).toEqual([]);
      if (who === 'alice') return;
      // The next run goes where Bob led the provider, and the key does not.
      const next = await world.ended(await world.prompt(run.workflow_id));
      expect(next).toMatchObject({ status: 'failed', error_code: 'secret_not_granted' });
      expect(next.error).toMatch(/provider scripted .* alice can grant it by saving/);
      expect(elsewhere.seen).toEqual([]);
    } finally {
      await elsewhere.stop();
    }
  });

  it('ends when its owner takes the grant back', async () => {
    const run = await parked();
    const grants = `/api/tokens/${run.key.id}/grants`;
    const [granted] = (await world.alice.get(grants)).body as unknown as { id: string }[];
    expect(granted).toMatchObject({ status: 'granted', resource_type: 'provider' });
    await world.alice.ok(world.alice.del(`${grants}/${granted?.id}`), 204);
    expect((await run.approved()).task).toMatchObject({ status: 'failed', error_code: 'secret_not_granted' });
  });
});
