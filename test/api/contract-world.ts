import { SHIPPED_MODELS } from '../../src/domain/known-models.ts';
import type { TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import type { Row } from './interface-rows.ts';

export const UNKNOWN = '01900000-0000-7000-8000-000000000000';

/** One of everything, owned by Alice where it is owned; `id` is what a row's path would put in place of its parameters. */
export interface World {
  ids: Record<string, string>;
  /** A body that the operation takes. */
  bodyOf(row: Row): object | undefined;
  /** The row's path with ids that exist. Where the operation deletes, of something made for it. */
  pathOf(row: Row): Promise<string>;
}

const FUNCTION = 'def NAME(a: int) -> int:\n    return a\n';

/** The collection of a path, such as `skills`. */
export const collectionOf = ({ path }: Row) => path.split('/')[2] as string;

export async function worldOf(here: TestInstallation): Promise<World> {
  const { alice } = here;
  let made = 0;
  const ids: Record<string, string> = {};
  const unique = (name: string) => `${name}_${++made}`;
  const later = () => new Date(Date.now() + 3_600_000).toISOString();

  const creates: Record<string, () => object> = {
    'custom-tools': () => {
      const name = unique('tool');
      return { name, source_code: FUNCTION.replace('NAME', name), env_config: { KEY: {} } };
    },
    agents: () => ({ name: unique('agent'), provider_id: ids.providers }),
    skills: () => ({ name: unique('skill'), instructions: 'x' }),
    workflows: () => ({ agent_id: ids.agents }),
    'scheduled-agents': () => ({
      ...{ name: unique('schedule'), workflow_id: ids.workflows, prompt: 'x', interval_value: 1, interval_unit: 'weeks' },
      start_at: later(),
    }),
    alerts: () => ({ name: unique('alert'), measure: 'backlog', threshold: 1_000_000, workflow_id: ids.workflows }),
    budgets: () => ({
      name: unique('budget'),
      scope: 'workflow',
      subject_id: ids.workflows,
      period: 'day',
      limit_tokens: 1_000_003,
    }),
    mcps: () => ({ name: unique('server'), transport_type: 'http', connection_config: { url: 'http://127.0.0.1:1/mcp' } }),
    guardrails: () => ({ name: unique('guardrail'), guardrail_type: 'prompt', config: { max_length: 100_000 } }),
    'knowledge-sources': () => ({ name: unique('source') }),
    'knowledge-items': () => ({ source_id: ids['knowledge-sources'], name: unique('item'), content: 'text' }),
    memories: () => ({ agent_id: ids.agents, key: unique('key'), value: 'x' }),
    tokens: () => ({ name: unique('token'), value: 'x' }),
    attachments: () => {
      const form = new FormData();
      form.set('file', new File(['text'], 'note.txt'));
      return form;
    },
    datasets: () => ({ name: unique('dataset') }),
    threads: () => ({ workflow_id: ids.remembering, title: unique('thread') }),
    keys: () => ({ name: unique('key'), scopes: ['read'] }),
    providers: () => ({
      name: unique('provider'),
      provider_type: 'openai_compatible',
      base_url: here.model.url,
      default_model: 'm',
    }),
  };
  const create = async (collection: string) =>
    (await alice.ok(alice.post(`/api/${collection}`, creates[collection]?.()), 201)).id as string;
  const createRemembering = async () =>
    (await alice.ok(alice.post('/api/workflows', { ...creates.workflows?.(), remember: 'thread' }), 201)).id as string;

  const ORDER = [
    'providers',
    'agents',
    'skills',
    'workflows',
    'custom-tools',
    'scheduled-agents',
    'alerts',
    'budgets',
    'mcps',
    'guardrails',
  ];
  for (const collection of [
    ...ORDER,
    'knowledge-sources',
    'knowledge-items',
    'memories',
    'tokens',
    'datasets',
    'threads',
    'keys',
    'attachments',
  ]) {
    if (collection === 'threads') ids.remembering = await createRemembering();
    ids[collection] = await create(collection).catch((error: Error) => `none: ${error.message}`);
  }
  here.model.always(says('ok'));
  ids.tasks = await here.prompt(ids.workflows as string, 'x');
  await here.ended(ids.tasks);
  await alice.ok(alice.post(`/api/workflows/${ids.workflows}/skills/${ids.skills}`));
  ids.sessions = await chatOf(here, ids.agents as string).catch(() => UNKNOWN);

  const special: Record<string, object> = {
    'POST /api/custom-tools/{id}/run': { arguments: { a: 1 } },
    'PUT /api/custom-tools/{id}/env-mapping': { env_mapping: { KEY: null } },
    'POST /api/custom-tools/validate': { name: 'f', source_code: FUNCTION.replace('NAME', 'f') },
    'POST /api/workflows/{id}/prompt': { prompt: 'x' },
    'POST /api/tasks/{id}/scores': { thumb: 'up' },
    'POST /api/datasets/{id}/items': { prompt: 'x' },
    'POST /api/tasks/{id}/fork': { from_step: 1, effects: 'stub' },
    'POST /api/threads/{id}/messages': { message: 'x' },
    'POST /api/threads/{id}/ui': { messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'hello' }] }] },
    'POST /api/threads/{id}/ag-ui': { threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'hello' }] },
    'POST /api/agents/{agent_id}/chat': { message: 'hello' },
    'POST /api/scheduled-agents/preview': { cron: '@daily' },
    'POST /api/scheduled-agents/{sa_id}/backfill': { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
    'POST /api/import': { version: '1.0' },
    'POST /api/mcps/import': { mcpServers: {} },
    'POST /api/models/catalogue': { text: JSON.stringify({ format: 1, models: SHIPPED_MODELS }) },
    'POST /api/mcps/sign-in': { state: 'made up', code: 'made up' },
    'PUT /api/mcps/{id}/tools': { allowed_tools: [] },
    'POST /api/mcps/{id}/prompts/fill': { name: 'none' },
    'POST /v1/conversations/{id}': { metadata: { made: 'meanwhile' } },
    'POST /api/providers/test': { provider_type: 'openai_compatible', base_url: here.model.url },
    'POST /api/tokens/{id}/grants': { resource_type: 'provider', resource_id: ids.providers as string, destination: 'x' },
    'POST /api/guardrails/{id}/check': { text: 'x' },
    'POST /api/knowledge-items/query': { query: 'x' },
    'POST /api/memories/search': { agent_id: ids.agents as string, query: 'x' },
  };
  /** What is deleted below another path than that of its collection, by its path: made for it. */
  const nested: Record<string, () => Promise<Record<string, string>>> = {
    '/api/agents/{agent_id}/chat/sessions/{session_id}': async () => ({ session_id: await chatOf(here, ids.agents as string) }),
    '/api/threads/{id}/messages/{message_id}': async () => {
      const { thread_id, message_id } = await steerTurn();
      return { id: thread_id, message_id };
    },
    '/api/tasks/{id}/messages/{message_id}': async () => {
      const { task_id, message_id } = await steerTurn();
      return { id: task_id, message_id };
    },
    '/v1/conversations/{id}': async () => ({ id: await createConversation() }),
    '/v1/conversations/{id}/items/{item_id}': async () => {
      const id = await createConversation();
      return { id, item_id: (await alice.ok(alice.get(`/v1/conversations/${id}/items`))).data[0].id };
    },
  };
  /** A turn whose model does not answer: messages wait for it. */
  let working: Promise<{ thread_id: string; task_id: string }> | undefined;
  const steerTurn = async () => {
    working ??= beginTurn();
    const { thread_id, task_id } = await working;
    const path = `/api/threads/${thread_id}/messages`;
    const { id: message_id } = await alice.ok(alice.post(path, { message: 'x', when_busy: 'steer' }), 202);
    return { thread_id, task_id, message_id: message_id as string };
  };
  const beginTurn = async () => {
    const thread_id = await create('threads');
    const message = unique('never answered');
    const asked = Promise.withResolvers<void>();
    here.model.scriptPrompt(message, () => {
      asked.resolve();
      return new Promise(() => {});
    });
    const { task_id } = await alice.ok(alice.post(`/api/threads/${thread_id}/messages`, { message }), 202);
    // Its first step would read messages that are sent before.
    await asked.promise;
    return { thread_id, task_id: task_id as string };
  };
  const createConversation = async (): Promise<string> =>
    (await alice.ok(alice.post('/v1/conversations', { items: [{ role: 'user', content: 'x' }] }))).id;
  return {
    ids,
    bodyOf(row) {
      const { method, path } = row;
      const found = special[`${method} ${path}`];
      if (found) return found;
      if (path.endsWith('/import')) return { items: [] };
      if (method === 'POST' && path === `/api/${collectionOf(row)}`) return creates[collectionOf(row)]?.();
      return method === 'PUT' ? {} : path === '/api/scheduled-agents/{sa_id}' && method === 'PATCH' ? {} : undefined;
    },
    async pathOf(row) {
      const collection = collectionOf(row);
      const own: Record<string, string> = {
        skill_id: ids.skills as string,
        session_id: ids.sessions as string,
        agent_id: ids.agents as string,
        workflow_id: ids.workflows as string,
        chat_id: 'any',
        // Of a version.
        number: '1',
      };
      if (row.method !== 'GET') Object.assign(own, await nested[row.path]?.());
      const fresh = row.method === 'DELETE' && /^\/api\/[\w-]+\/\{\w+\}$/.test(row.path) ? await create(collection) : null;
      return row.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => own[name] ?? fresh ?? (ids[collection] as string));
    },
  };
}

async function chatOf({ alice }: TestInstallation, agent_id: string): Promise<string> {
  const answer = await alice.post(`/api/agents/${agent_id}/chat`, { message: 'hello' });
  if (answer.status !== 200) throw new Error('no chat');
  return (await alice.get(`/api/agents/${agent_id}/chat/sessions`)).body[0].id as string;
}
