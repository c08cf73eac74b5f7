import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localIdentity } from '../../src/identity/providers.ts';
import { type Client, clientOf } from '../support/client.ts';
import { ALICE, BOB, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
const CAROL = 'token-of-carol';
/** An administrator. */
let carol: Client;
let agent_id: string;
let workflow_id: string;
let made = 0;
beforeAll(async () => {
  const accounts = Object.entries({ alice: ALICE, bob: BOB, carol: CAROL }).map(([login, token]) => ({ login, token }));
  here = await startTestInstallation({
    env: { ADMIN_SUBJECTS: 'local:carol' },
    setting: { identity_providers: [localIdentity(accounts)] },
  });
  carol = clientOf(here.url, CAROL);
  workflow_id = await here.workflow({
    agent: { builtin_tools: ['store_memory', 'search_memory'] },
    workflow: { title: 'of alice' },
  });
  ({ agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`)));
});
afterAll(() => here.stop());

const remember = (values: object = {}) => ({ agent_id, key: `key ${++made}`, value: 'the walrus', ...values });

describe('a session memory', () => {
  it("is the workflow owner's at every door", async () => {
    const { alice, bob } = here;
    const memory = await alice.ok(alice.post('/api/memories', remember({ scope: 'session', workflow_id })), 201);
    const path = `/api/memories/${memory.id}`;
    for (const reply of [
      await bob.get(path),
      await bob.put(path, { value: 'mine' }),
      await bob.del(path),
      await bob.post('/api/memories', { ...remember({ scope: 'session', workflow_id }), key: memory.key, value: 'mine' }),
      await bob.post('/api/memories/search', { agent_id, query: 'walrus', workflow_id }),
    ])
      expect([reply.status, reply.body.code]).toEqual([403, 'forbidden']);
    for (const query of ['', `?agent_id=${agent_id}`, '?scope=session', '?q=walrus']) {
      const reply = await bob.get(`/api/memories${query}`);
      expect([reply.body, reply.headers.get('x-total-count')]).toEqual([[], '0']);
    }
    expect((await bob.get(`/api/memories/stm/${agent_id}`)).body).toEqual([]);
    expect((await bob.post('/api/memories/search', { agent_id, query: 'walrus' })).body).toEqual([]);
    expect((await bob.post('/api/memories/search', { agent_id, query: 'walrus', scope: 'session' })).body).toEqual([]);
    expect(JSON.stringify((await bob.get('/api/export')).body)).not.toContain('walrus');
    expect((await alice.get(path)).body.value).toBe('the walrus');
    expect((await alice.get(`/api/memories/stm/${agent_id}`)).body).toHaveLength(1);
    await alice.ok(alice.put(path, { value: 'a walrus' }));
    await alice.ok(alice.post('/api/memories', { ...remember({ scope: 'session', workflow_id }), key: memory.key }), 201);
  });

  it('goes with its workflow', async () => {
    const { alice } = here;
    const { id } = await alice.ok(alice.post('/api/workflows', { agent_id }));
    const memory = await alice.ok(alice.post('/api/memories', remember({ scope: 'session', workflow_id: id })), 201);
    await alice.ok(alice.del(`/api/workflows/${id}`));
    expect(await here.core.database.prisma.memory.count({ where: { id: memory.id } })).toBe(0);
  });
});

describe('a memory that all share', () => {
  const SCOPES = { agent: () => here.alice, global: () => carol };

  it('is written, changed and deleted by those only who may change the agent, a global one by administrators only', async () => {
    for (const [scope, entitled] of Object.entries(SCOPES)) {
      const values = remember({ scope });
      const { id, owner } = await entitled().ok(entitled().post('/api/memories', values), 201);
      expect(owner).toBeNull();
      const path = `/api/memories/${id}`;
      for (const client of scope === 'global' ? [here.bob, here.alice] : [here.bob])
        for (const reply of [
          await client.post('/api/memories', remember({ scope })),
          await client.post('/api/memories', { ...values, value: 'taken over' }),
          await client.put(path, { value: 'taken over' }),
          await client.del(path),
        ])
          expect([reply.status, reply.body.detail]).toEqual([403, expect.stringMatching(/ask (them or )?an administrator/)]);
      expect((await here.bob.get(path)).body.value).toBe('the walrus');
      await carol.ok(carol.put(path, { value: 'the carpenter' }));
      await carol.ok(carol.del(path), 204);
    }
  });

  it('is never overwritten by a create of someone else, unless it has expired', async () => {
    const values = remember();
    await here.alice.ok(here.alice.post('/api/memories', values), 201);
    const refused = await carol.post('/api/memories', { ...values, value: 'taken over' });
    expect([refused.status, refused.body.code]).toEqual([409, 'memory_of_another']);
    const expired = await here.alice.ok(here.alice.post('/api/memories', { ...values, ttl: '2001-01-01T00:00:00Z' }), 201);
    await here.core.database.pool.query(`UPDATE memories SET created_at = '2000-01-01' WHERE id = $1`, [expired.id]);
    const taken_over = await carol.ok(carol.post('/api/memories', values), 201);
    expect(taken_over).toMatchObject({ created_by: 'local:carol', created_at: expect.not.stringMatching(/^2000/) });
    expect((await here.alice.get(`/api/memories/${expired.id}`)).status).toBe(404);
    expect(await carol.ok(carol.post('/api/memories', { ...values, value: 'later' }), 201)).toMatchObject({
      ...taken_over,
      value: 'later',
      updated_at: expect.any(String),
    });
  });

  it('is everyone’s to write if shared resources are', async () => {
    const open = await startTestInstallation({ worker: false, env: { SHARED_WRITE: 'everyone' } });
    const { id } = await open.alice.ok(open.alice.post('/api/agents', { name: 'open' }), 201);
    for (const scope of Object.keys(SCOPES))
      await open.bob.ok(open.bob.post('/api/memories', { ...remember({ scope }), agent_id: id }), 201);
    await open.stop();
  });
});

describe('what a run stores', () => {
  /** A run of Bob's with Alice's agent that stores a value in every scope, under a key that Alice uses, too. */
  async function stored(value: string) {
    const { alice, bob, model } = here;
    const key = `key ${++made}`;
    await alice.ok(alice.post('/api/memories', { agent_id, key, value: 'of alice' }), 201);
    const { id } = await bob.ok(bob.post('/api/workflows', { agent_id, output_format: 'markdown' }), 201);
    model.script(
      asks(...['agent', 'global', 'session'].map((scope) => ({ name: 'store_memory', args: { key, value, scope } }))),
      says('done'),
    );
    await ran(bob, id);
    return { key, workflow_id: id as string };
  }
  const ran = async (client: Client, id: string) => {
    const { task_id } = await client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: 'walrus' }), 201);
    await until('the run has ended', async () => (await client.get(`/api/tasks/${task_id}`)).body.status === 'completed');
    return JSON.stringify(here.model.requests.slice(-2));
  };

  it('is recalled by the runs of its owner only, with whatever agent, and shown to them and administrators', async () => {
    const { alice, bob, model } = here;
    const value = `canary${++made}`;
    const { key, workflow_id: of_bob } = await stored(`${value} walrus`);
    const searched = [asks({ name: 'search_memory', args: { query: `walrus ${key}` } }), says('done')];
    model.script(...searched);
    expect(await ran(alice, workflow_id)).not.toContain(value);
    model.script(...searched);
    expect(await ran(bob, of_bob)).toContain(value);
    const doors = (client: Client) =>
      Promise.all([
        client.get(`/api/memories?q=${value}`),
        client.post('/api/memories/search', { agent_id, query: value }),
        client.get(`/api/memories/stm/${agent_id}`),
      ]);
    const shown = (replies: Awaited<ReturnType<typeof doors>>) =>
      replies.map(({ body }) => body.filter((one: { value: string }) => one.value.includes(value)).length);
    expect(shown(await doors(alice))).toEqual([0, 0, 0]);
    expect(shown(await doors(bob))).toEqual([3, 3, 3]);
    expect(shown(await doors(carol))).toEqual([2, 0, 0]);
    const [memory] = (await bob.get(`/api/memories?q=${value}&scope=agent`)).body as unknown as { id: string }[];
    expect(memory).toMatchObject({ owner: 'local:bob', workflow_id: null, key });
    const path = `/api/memories/${memory?.id}`;
    for (const reply of [await alice.get(path), await alice.put(path, { value: 'x' }), await alice.del(path)])
      expect(reply.status).toBe(403);
    await bob.ok(bob.put(path, { value: 'corrected' }));
    await carol.ok(carol.del(path), 204);
  });

  it('by auto_memory is its owner’s as well', async () => {
    const { alice, bob, model } = here;
    const value = `canary${++made}`;
    const workflow = { agent_id, output_format: 'markdown', auto_memory: true };
    const { id } = await bob.ok(bob.post('/api/workflows', workflow), 201);
    model.script(says('done'), says(JSON.stringify({ facts: [{ key: value, value }] })));
    await ran(bob, id);
    expect((await bob.get(`/api/memories?q=${value}`)).body).toMatchObject([{ owner: 'local:bob', scope: 'agent' }]);
    model.script(says('done'));
    expect(await ran(alice, workflow_id)).not.toContain(value);
    model.script(says('done'), says('{"facts": []}'));
    expect(await ran(bob, id)).toContain(value);
  });
});

describe('a knowledge source', () => {
  it('takes items only from those who may change it, who also change and delete what others added before', async () => {
    const { alice, bob } = here;
    const source = async (client: Client) =>
      (await client.ok(client.post('/api/knowledge-sources', { name: `source ${++made}` }), 201)).id as string;
    const [of_alice, of_bob] = [await source(alice), await source(bob)];
    const item = { source_id: of_alice, name: 'note', content: 'the walrus' };
    const form = () => {
      const data = new FormData();
      data.set('source_id', of_alice);
      data.set('file', new File(['the walrus'], 'note.txt'));
      return data;
    };
    const own = await bob.ok(bob.post('/api/knowledge-items', { ...item, source_id: of_bob }), 201);
    const hers = await alice.ok(alice.post('/api/knowledge-items', item), 201);
    // As servers of earlier versions allowed it.
    await here.core.database.pool.query(`UPDATE knowledge_items SET created_by = 'local:bob' WHERE id = $1`, [hers.id]);
    for (const reply of [
      await bob.post('/api/knowledge-items', item),
      await bob.post('/api/knowledge-items/upload', form()),
      await bob.put(`/api/knowledge-items/${own.id}`, { source_id: of_alice }),
      await bob.put(`/api/knowledge-items/${hers.id}`, { content: 'mine' }),
      await bob.put(`/api/knowledge-items/${hers.id}`, { source_id: of_bob }),
      await bob.del(`/api/knowledge-items/${hers.id}`),
    ])
      expect([reply.status, reply.body.detail]).toEqual([
        403,
        expect.stringContaining('This knowledge source was created by someone'),
      ]);
    expect(await here.core.store.knowledgeItems.count(of_alice)).toBe(1);
    await alice.ok(alice.put(`/api/knowledge-items/${hers.id}`, { content: 'corrected' }));
    await alice.ok(alice.del(`/api/knowledge-items/${hers.id}`), 204);
    expect((await alice.post('/api/knowledge-items/upload', form())).status).toBe(201);
    await carol.ok(carol.post('/api/knowledge-items', item), 201);
  });
});

describe('what is in use', () => {
  it('names the own workflows, and counts those of others', async () => {
    const { alice, bob } = here;
    const skill = await bob.ok(bob.post('/api/skills', { name: 's', instructions: 'c' }), 201);
    const use = (client: typeof alice, title: string) =>
      client.ok(client.post('/api/workflows', { agent_id, title, skill_ids: [skill.id] }));
    await use(alice, 'secret plan');
    const one = await bob.del(`/api/skills/${skill.id}`);
    expect([one.status, one.body.detail]).toEqual([409, 'This skill is used by a workflow of someone else; change them first']);
    await use(alice, 'another plan');
    await use(bob, 'plan of bob');
    const { body } = await bob.del(`/api/skills/${skill.id}`);
    expect(body.detail).toBe('This skill is used by workflow plan of bob, 2 workflows of others; change them first');
  });

  it("does not count as a user of a stored token without a grant, and is not named to the token's owner", async () => {
    const { alice, bob } = here;
    const { id } = await bob.ok(bob.post('/api/tokens', { name: 'shared-key', value: 'value-of-it', shared: true }), 201);
    await alice.ok(
      alice.post('/api/workflows', {
        agent_id,
        title: 'secret plan',
        repo_url: 'https://a.example/b',
        repo_token_name: 'shared-key',
      }),
    );
    expect((await bob.get(`/api/tokens/${id}`)).body.used_by).toEqual([]);
    const answers = [await bob.get('/api/tokens'), await bob.get(`/api/tokens/${id}/grants`), await bob.del(`/api/tokens/${id}`)];
    expect(JSON.stringify(answers.map(({ body }) => body))).not.toContain('secret plan');
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 204]);
  });
});

describe('the last answer of a target', () => {
  it('is shown to the person who set it up and to administrators, and to nobody else', async () => {
    const { alice, bob } = here;
    const values = { name: 'gone', transport_type: 'http', connection_config: { url: 'http://127.0.0.1:9/mcp' } };
    const server = await alice.ok(alice.post('/api/mcps', values), 201);
    const source = { name: 'gone', source_type: 'vector_db', connection_config: { url: 'http://127.0.0.1:9', collection: 'c' } };
    const { id } = await alice.ok(alice.post('/api/knowledge-sources', source), 201);
    for (const path of [`/api/mcps/${server.id}`, `/api/knowledge-sources/${id}`]) {
      // What somebody else tries says nothing of what its creator set up.
      const before = await alice.ok(alice.get(path));
      await bob.ok(bob.post(`${path}/test`));
      expect(await alice.ok(alice.get(path))).toMatchObject({ status: before.status, last_error: null });
      await alice.ok(alice.post(`${path}/test`));
      expect((await alice.get(path)).body).toMatchObject({ status: 'error', last_error: expect.any(String) });
      expect((await carol.get(path)).body).toMatchObject({ status: 'error', last_error: expect.any(String) });
      expect((await bob.get(path)).body).toMatchObject({ status: 'error', last_error: null });
      const list = path.replace(/\/[^/]+$/, '');
      expect(new Set((await bob.get(list)).body.map((it: { last_error: unknown }) => it.last_error))).toEqual(new Set([null]));
    }
  });
});
