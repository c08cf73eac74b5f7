import { SHIPPED_MODELS } from '../../../src/domain/known-models.ts';
import { type MadeTenant, PRIVATE, TAG, TAKEN, TOKEN, toolSource, UNKNOWN } from './world.ts';

const LISTS = /(_ids|tags|_tools|_servers)$/;

/** The bodies of operations that create no record of a collection, with the texts of the tenant that sends them. */
const SPECIAL: Record<string, (own: MadeTenant) => unknown> = {
  'POST /api/custom-tools/{id}/run': () => ({ arguments: { a: 1 } }),
  'PUT /api/custom-tools/{id}/env-mapping': () => ({ env_mapping: { KEY: null } }),
  'POST /api/custom-tools/validate': () => ({ name: 'f', source_code: toolSource('f') }),
  'POST /api/workflows/{id}/prompt': () => ({ prompt: 'x' }),
  'POST /api/workflows/{id}/versions/{number}/restore': () => ({ agent: 'keep' }),
  'POST /api/tasks/{id}/fork': () => ({ from_step: 1, effects: 'stub' }),
  'POST /api/tasks/{id}/scores': () => ({ thumb: 'down', note: 'taken over' }),
  'POST /api/datasets/{id}/items': () => ({ prompt: 'x' }),
  'POST /api/datasets/{id}/items/import': () => ({
    ...{ format: 'perdura-run', version: 1, task: { prompt: 'x' }, steps: [], end: { response: null } },
  }),
  'POST /api/datasets/{id}/runs': ({ ids }) => ({
    workflow_id: ids.idle_workflow,
    graders: [{ type: 'exact' }],
    effects: 'stub',
  }),
  'POST /api/scheduled-agents/preview': () => ({ cron: '@daily' }),
  'POST /api/scheduled-agents/{id}/backfill': () => ({ from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }),
  'POST /api/tasks/{id}/budget': () => ({ max_tokens: 5 }),
  'POST /api/tasks/{id}/approvals/{call_id}': () => ({ decision: 'approve' }),
  'POST /api/tasks/{id}/reconciliations/{call_id}': () => ({ decision: 'retry' }),
  'POST /api/tasks/{id}/answers/{call_id}': () => ({ question_id: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be003', action: 'decline' }),
  'POST /api/tasks/{id}/continuity': () => ({ decision: 'fail' }),
  'POST /api/agents/{agent_id}/chat': () => ({ message: 'hello' }),
  'POST /api/import': ({ names, ids }) => ({
    version: '1.0',
    skills: [{ name: `${names.skills}_in`, instructions: 'x' }],
    agents: [{ name: `${names.agents}_in` }],
    workflows: [{ agent_id: ids.agents }],
    knowledge_sources: [{ name: `${names['knowledge-sources']}_in`, source_type: 'builtin' }],
    guardrails: [{ name: `${names.guardrails}_in`, guardrail_type: 'prompt', config: {} }],
    scheduled_agents: [{ name: 'in', prompt: 'x', workflow_id: ids.workflows, cron: '@yearly' }],
  }),
  'POST /api/skills/import': ({ names }) => ({ items: [{ name: `${names.skills}_item`, instructions: 'x' }] }),
  'POST /api/guardrails/import': ({ names }) => ({
    items: [{ name: `${names.guardrails}_item`, guardrail_type: 'prompt', config: {} }],
  }),
  'POST /api/scheduled-agents/import': ({ ids }) => ({
    items: [{ name: 'item', prompt: 'x', workflow_id: ids.workflows, cron: '@yearly' }],
  }),
  'POST /api/agents/import': ({ names }) => ({ items: [{ name: `${names.agents}_item` }] }),
  'POST /api/workflows/import': ({ ids }) => ({ items: [{ agent_id: ids.agents }] }),
  'POST /api/knowledge-sources/import': ({ names }) => ({
    items: [{ name: `${names['knowledge-sources']}_item`, source_type: 'builtin' }],
  }),
  'POST /api/mcps/import': ({ trap, names }) => ({ mcpServers: { [`${names.mcps}_in`]: { url: `${trap.url}/imported` } } }),
  'POST /api/mcps/sign-in': () => ({ state: 'made up', code: 'made up' }),
  'PUT /api/mcps/{id}/tools': () => ({ allowed_tools: [] }),
  'POST /api/mcps/{id}/prompts/fill': () => ({ name: 'none' }),
  'POST /api/guardrails/{id}/check': () => ({ text: 'x' }),
  'POST /api/knowledge-items/query': () => ({ query: 'common' }),
  'POST /api/memories/search': ({ ids }) => ({ agent_id: ids.agents, query: `${PRIVATE} known key value` }),
  'POST /v1/chat/completions': ({ ids }) => ({ model: ids.idle_workflow, messages: [{ role: 'user', content: 'x' }] }),
  'POST /v1/chat/completions/{id}': () => ({ metadata: { score: 'down', note: 'taken over' } }),
  'POST /v1/responses': ({ ids }) => ({ model: ids.idle_workflow, input: 'x' }),
  'POST /v1/conversations': () => ({ items: [{ role: 'user', content: 'x' }] }),
  'POST /v1/conversations/{id}': () => ({ metadata: { topic: 'taken over' } }),
  'POST /v1/conversations/{id}/items': () => ({ items: [{ role: 'user', content: 'taken over' }] }),
  'POST /mcp': () => ({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  'POST /api/tokens/{id}/grants': ({ ids }) => ({ resource_type: 'provider', resource_id: ids.providers, destination: 'x' }),
  'POST /api/providers/test': ({ trap }) => ({ provider_type: 'openai_compatible', base_url: `${trap.url}/draft` }),
  'PUT /api/workflows/{id}': () => ({ title: 'taken over' }),
  'PUT /api/memories/{id}': () => ({ value: 'taken over' }),
  'PUT /api/tokens/{id}': () => ({ shared: true, value: 'taken over' }),
  'PUT /api/me/settings': ({ ids }) => ({ views: [{ screen: 'tasks', name: 'Mine', query: { workflow_id: ids.workflows } }] }),
  'PUT /api/threads/{id}': () => ({ title: 'taken over' }),
  'POST /api/threads/{id}/ui': () => ({ messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'x' }] }] }),
  'POST /api/threads/{id}/ag-ui': () => ({ threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'x' }] }),
  'POST /api/threads/{id}/messages': () => ({ message: 'taken over' }),
  'PUT /api/alerts/{id}': () => ({ threshold: 7 }),
  'POST /api/models/catalogue': () => ({ text: JSON.stringify({ format: 1, models: SHIPPED_MODELS }) }),
  'PUT /api/budgets/{id}': () => ({ limit_tokens: 1_000_033 }),
  'PATCH /api/scheduled-agents/{id}': () => ({ prompt: 'taken over' }),
};

const collectionOf = (path: string) => path.split('/')[2] as string;

/** Returns a tenant's request about its own records; it takes effect if allowed. */
export function bodyOf(operation: string, own: MadeTenant): unknown {
  const [method, path] = operation.split(' ') as [string, string];
  if (SPECIAL[operation]) return SPECIAL[operation](own);
  if (path.endsWith('/upload')) {
    const form = new FormData();
    const knowledge = path.includes('knowledge');
    if (knowledge) form.set('source_id', own.ids['knowledge-sources'] as string);
    const name = `${own.names['custom-tools']}_${Math.random().toString(36).slice(2)}`;
    form.set('file', new Blob([knowledge ? 'text' : toolSource(name)]), knowledge ? 'note.txt' : `${name}.py`);
    return form;
  }
  const collection = collectionOf(path);
  if (method === 'POST' && path === `/api/${collection}`) return own.bodies[collection as keyof MadeTenant['bodies']]();
  return method === 'PUT' ? { description: 'taken over' } : undefined;
}

/** Fills a path with the ids of this tenant; `id` replaces the first one. */
export function pathOf(path: string, { ids }: MadeTenant, id?: string): string {
  const in_conversation = path.startsWith('/v1/conversations');
  const run = path.startsWith('/v1/responses') ? `resp_${ids.tasks}` : `chatcmpl-${ids.tasks}`;
  const door = in_conversation ? ids.conversations : run;
  const own = path === '/api/knowledge-sources/{id}/test' ? ids.remote_source : ids[collectionOf(path)];
  const first = id ?? (path.startsWith('/v1') ? door : own);
  // The run with a delivery is not the run with a pending approval.
  const of = path.includes('{delivery_id}') || path.endsWith('/webhooks') ? ids.ended_task : first;
  const named: Record<string, string | undefined> = { ...ids, id: of, model: ids.idle_workflow };
  if (in_conversation) named.item_id = ids.conversation_item;
  return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => named[name] ?? UNKNOWN);
}

/** Private collections, in which several records may have the same name. */
const NAMED_FREELY = ['scheduled-agents', 'alerts', 'budgets', 'datasets', 'keys', 'threads'];

/** Returns the value that makes a field refer to a record of the other tenant. */
export function foreignValue(path: string, kind: string, { operation, other, own }: Foreign): unknown {
  const field = bareName(path);
  const { ids, names } = other;
  const collection =
    /^(skills|agents|workflows|knowledge_sources|guardrails|scheduled_agents)\[\]/.exec(path)?.[1]?.replace('_', '-') ??
    collectionOf(operation);
  if (kind === 'token') return tokenValue(field, operation, own);
  if (kind === 'unique') return collection === 'tokens' ? TOKEN : NAMED_FREELY.includes(collection) ? 'x' : names[collection];
  if (kind === 'import_id') return ids[collection];
  if (kind === 'memory_key') return TAKEN.key;
  if (kind === 'granted') return ids.providers;
  if (kind === 'door_model') return ids.workflows;
  if (kind === 'conversation') return ids.conversations;
  if (kind === 'response') return `resp_${ids.tasks}`;
  const values: Record<string, string | undefined> = {
    ...{
      agent_id: ids.agents,
      provider_id: ids.listed_provider,
      source_id: ids['knowledge-sources'],
      workflow_id: ids.workflows,
      subject_id: ids.workflows,
    },
    ...{
      baseline_id: ids.run_id,
      session_id: ids.session_id,
      task_id: ids.tasks,
      thread_id: ids.threads,
      head_task_id: ids.tasks,
      tool_id: ids['custom-tools'],
      id: ids.attachments,
      skill_ids: ids.skills,
      guardrail_ids: ids.guardrails,
    },
    ...{ mcp_server_ids: ids.mcps, required_mcp_servers: ids.mcps, custom_tool_ids: ids['custom-tools'] },
    ...{ knowledge_source_ids: ids.remote_source, source_ids: ids.remote_source, approval_tools: names['custom-tools'] },
    ...{ allowed_tools: names['custom-tools'] },
  };
  const value = values[field] ?? TAG;
  return LISTS.test(field) ? [value] : value;
}

interface Foreign {
  operation: string;
  other: MadeTenant;
  own: MadeTenant;
}

function tokenValue(field: string, operation: string, { trap }: MadeTenant): unknown {
  const named = `{{token:${TOKEN}}}`;
  const url = `${trap.url}/second`;
  if (field === 'connection_config' && operation.includes('knowledge-sources')) return { url, collection: 'c', api_key: named };
  if (field === 'connection_config') return { url: `${url}/mcp`, headers: { 'X-Key': named } };
  if (field === 'env_config') return { KEY: { token_name: TOKEN } };
  if (field === 'credential_overrides' || field === 'env_mapping') return { KEY: TOKEN };
  return field === 'headers' || field === 'env' ? { Key: named } : TOKEN;
}

export const bareName = (path: string) =>
  path
    .replaceAll(/\[\]|\{\}/g, '')
    .split('.')
    .at(-1) as string;

/** Returns a copy of the body with a field set at any depth; lists and maps keep their first entry. */
export function withField(body: unknown, path: string, value: unknown): unknown {
  const [head, ...rest] = path.split('.') as [string, ...string[]];
  const name = head.replaceAll(/\[\]|\{\}/g, '');
  const record = { ...(body as Record<string, unknown>) };
  if (rest.length === 0) return { ...record, [name]: value };
  const inner = rest.join('.');
  if (head.endsWith('[]')) return { ...record, [name]: [withField((record[name] as unknown[])?.[0] ?? {}, inner, value)] };
  if (!head.endsWith('{}')) return { ...record, [name]: withField(record[name] ?? {}, inner, value) };
  const [key, entry] = Object.entries((record[name] ?? {}) as object)[0] ?? ['entry', {}];
  return { ...record, [name]: { [`${key}_${Math.random().toString(36).slice(2)}`]: withField(entry, inner, value) } };
}
