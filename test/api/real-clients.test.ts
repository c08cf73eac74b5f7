import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';

/**
 * Stand-ins of the calls that two clients of this interface make, a dashboard and a seed script, neither written for Perdura: what they
 * send, and what they read from the answers.
 */
let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation();
});
afterAll(() => here.stop());

describe('a dashboard that knows nothing of pages', () => {
  it('is given more than a hundred items without asking', async () => {
    const items = Array.from({ length: 150 }, (_, index) => ({ name: `skill ${index}`, instructions: 'x' }));
    await here.alice.ok(here.alice.post('/api/skills/import', { items }), 201);
    const { body, headers } = await here.alice.get('/api/skills');
    expect(body).toHaveLength(150);
    expect(headers.get('link')).toBeNull();
  });

  it('shows a masked value for each token', async () => {
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'shown', value: 'CANARY-1234', description: null }), 201);
    const [token] = (await here.alice.get('/api/tokens')).body as { masked_value: string }[] & Record<string, never>;
    expect(token).toMatchObject({ name: 'shown', masked_value: '********' });
    expect(JSON.stringify(token)).not.toContain('1234');
  });

  it('reads messages, logs and the sums of a run from its task', async () => {
    const workflow_id = await here.workflow();
    here.model.script(says('Hello.'));
    const task_id = await here.prompt(workflow_id);
    await here.ended(task_id);
    const { body: task } = await here.alice.get(`/api/tasks/${task_id}`);
    expect(task.messages.map(({ role }: { role: string }) => role)).toEqual(['user', 'assistant']);
    expect(task.logs.map(({ event }: { event: string }) => event)).toContain('completed');
    expect(task.usage).toMatchObject({ total_input_tokens: task.usage.total_in, total_output_tokens: task.usage.total_out });
    const { body: workflow } = await here.alice.get(`/api/workflows/${workflow_id}`);
    expect(workflow.usage.total_input_tokens).toBe(workflow.usage.total_in);
    const bare = (await here.alice.get(`/api/tasks/${task_id}?include=`)).body;
    expect([bare.messages, bare.logs]).toEqual([undefined, undefined]);
    const { body: steps } = await here.alice.get(`/api/tasks/${task_id}?include=steps`);
    expect([steps.steps_detail.length, steps.messages, steps.logs]).toEqual([1, undefined, undefined]);
    expect(await here.alice.get(`/api/tasks/${task_id}?include=all`)).toMatchObject({ status: 422 });
  });

  it('switches a workflow on by its status, and writes back what it has read', async () => {
    const id = await here.workflow();
    const off = await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { status: 'inactive' }));
    expect(off).toMatchObject({ status: 'inactive', enabled: false });
    const on = await here.alice.ok(here.alice.put(`/api/workflows/${id}`, { status: 'active' }));
    expect(on).toMatchObject({ status: 'active', enabled: true });
    const again = await here.alice.ok(here.alice.put(`/api/workflows/${id}`, on));
    expect(again.warnings).toBeUndefined();
    expect((await here.alice.get('/api/workflows')).body[0]).toHaveProperty('enabled');
  });

  it('begins a chat with session_id null', async () => {
    const [{ id }] = (await here.alice.get('/api/agents')).body as never as { id: string }[] & [{ id: string }];
    here.model.script(says('Hi.'));
    const answer = await here.alice.post(`/api/agents/${id}/chat`, { message: 'Hello', session_id: null });
    expect([answer.status, String(answer.body).includes('"type":"done"')]).toEqual([200, true]);
  });
});

describe('a seed', () => {
  it('makes MCP servers before the tokens they name', async () => {
    const connection_config = { url: 'https://mcp.example.com', headers: { Authorization: 'Bearer {{token:later}}' } };
    const server = { name: 'seeded', transport_type: 'http', connection_config, allowed_tools: null, tags: null };
    const made = await here.alice.ok(here.alice.post('/api/mcps', server), 201);
    expect(made).toMatchObject({ needs: ['later'], warnings: [{ path: 'connection_config' }] });
    await here.alice.ok(here.alice.post('/api/tokens', { name: 'later', value: 'x' }), 201);
    const now = await here.alice.get(`/api/mcps/${made.id}`);
    expect(now.body).not.toHaveProperty('needs');
    expect(
      (await here.alice.put(`/api/mcps/${made.id}`, { tags: ['a'] }, { 'if-match': now.headers.get('etag') as string })).status,
    ).toBe(200);
  });

  it('sends its own spellings', async () => {
    const guardrail = {
      name: 'spelled',
      guardrail_type: 'prompt',
      prompt_config: { forbidden_patterns: ['secret'], min_length: null },
    };
    const made = await here.alice.ok(here.alice.post('/api/guardrails', guardrail), 201);
    expect(made.config.forbidden_patterns).toEqual(['secret']);
    expect(made.warnings).toBeUndefined();
    const provider = { name: 'spelled', provider_type: 'custom', base_url: here.model.url };
    expect(await here.alice.ok(here.alice.post('/api/providers', provider), 201)).toMatchObject({
      provider_type: 'openai_compatible',
    });
    const source = await here.alice.ok(
      here.alice.post('/api/knowledge-sources', { name: 'spelled', source_type: 'mongo_db' }),
      201,
    );
    const item = { source_id: source.id, name: 'spelled', text_content: 'Trains.' };
    const { id } = await here.alice.ok(here.alice.post('/api/knowledge-items', item), 201);
    expect((await here.alice.get(`/api/knowledge-items/${id}/content`)).body.content).toBe('Trains.');
    const form = new FormData();
    form.set('source_id', source.id);
    form.set('tags', '["a", "b"]');
    form.set('file', new Blob(['text']), 'note.txt');
    expect((await here.alice.ok(here.alice.post('/api/knowledge-items/upload', form), 201)).tags).toEqual(['a', 'b']);
    const tool = { name: 'spelled', source_code: 'def spelled():\n    return 1\n', env_config: { KEY: '{{token:later}}' } };
    expect((await here.alice.ok(here.alice.post('/api/custom-tools', tool), 201)).env_config.KEY.token_name).toBe('later');
  });
});
