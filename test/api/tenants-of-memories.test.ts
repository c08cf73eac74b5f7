import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/model-server.ts';

let here: TestInstallation;
let agent_id: string;
let workflow_id: string;
let made = 0;
beforeAll(async () => {
  here = await startTestInstallation({ env: { ADMIN_SUBJECTS: 'local:root' } });
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
  it('is never overwritten by a create of someone else, unless it has expired', async () => {
    const { alice, bob } = here;
    for (const scope of ['agent', 'global']) {
      const values = remember({ scope });
      const { id } = await alice.ok(alice.post('/api/memories', values), 201);
      const refused = await bob.post('/api/memories', { ...values, value: 'taken over' });
      expect([refused.status, refused.body.code]).toEqual([409, 'memory_of_another']);
      expect((await bob.get(`/api/memories/${id}`)).body).toMatchObject({ value: 'the walrus', created_by: 'local:alice' });
      await alice.ok(alice.post('/api/memories', { ...values, ttl: '2001-01-01T00:00:00Z' }), 201);
      expect(await bob.ok(bob.post('/api/memories', { ...values, value: 'free' }), 201)).toMatchObject({
        created_by: 'local:bob',
      });
    }
  });

  it("is not overwritten by another user's run, and that run's model gets an error", async () => {
    const values = remember();
    await here.bob.ok(here.bob.post('/api/memories', values), 201);
    const { key } = values;
    here.model.script(asks({ name: 'store_memory', args: { key, value: 'taken over' } }), says('done'));
    await here.ended(await here.prompt(workflow_id));
    expect(here.model.requests.at(-1)?.messages.at(-1)?.content).toContain('choose another key');
    const { body } = await here.bob.get(`/api/memories?q=${encodeURIComponent(key)}`);
    expect(body).toMatchObject([{ value: 'the walrus' }]);
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
  it('is shown to the person who set it up, and to nobody else', async () => {
    const { alice, bob } = here;
    const values = { name: 'gone', transport_type: 'http', connection_config: { url: 'http://127.0.0.1:9/mcp' } };
    const server = await alice.ok(alice.post('/api/mcps', values), 201);
    const source = { name: 'gone', source_type: 'vector_db', connection_config: { url: 'http://127.0.0.1:9', collection: 'c' } };
    const { id } = await alice.ok(alice.post('/api/knowledge-sources', source), 201);
    for (const path of [`/api/mcps/${server.id}`, `/api/knowledge-sources/${id}`]) {
      await alice.ok(alice.post(`${path}/test`));
      expect((await alice.get(path)).body).toMatchObject({ status: 'error', last_error: expect.any(String) });
      expect((await bob.get(path)).body).toMatchObject({ status: 'error', last_error: null });
      const list = path.replace(/\/[^/]+$/, '');
      expect((await bob.get(list)).body.map((it: { last_error: unknown }) => it.last_error)).toEqual([null]);
    }
  });
});
