import type { Client } from '../client.ts';
import type { TestInstallation } from '../installation.ts';
import { asks, says } from '../peers/model-server.ts';
import { startReceiver } from '../peers/receiver.ts';
import { until } from '../until.ts';
import { startTrap, type Trap } from './trap.ts';

/** The text in every private field of the first tenant; no response to someone else may contain it. */
export const PRIVATE = 'canaryprivate';
/** The text in the names and notes of the first tenant's stored tokens; administrators may see it, to delete the tokens. */
export const TOKEN_PRIVATE = 'canarytoken';
/** The text in every secret of the first tenant; no request that someone else causes may contain it. */
export const SECRET = 'canarysecret0123456789';
/** A token that the shared resources of the first tenant name, so that its name is not secret. */
export const TOKEN = 'first-tenants-key';
export const TAG = 'tenants';
export const TAKEN = { key: 'a known key', session: `${PRIVATE} key` };

export const UNKNOWN = '01900000-0000-7000-8000-000000000000';

/** A tool that returns its variable in a form that redaction does not recognize. */
const TOOL = 'import os\n\ndef NAME(a: int = 1) -> str:\n    return (os.environ.get("KEY") or "")[::-1]\n';
export const toolSource = (name: string) => TOOL.replace('NAME', name);

export interface Tenant {
  client: Client;
  /** The ids by collection, and by the other names in a path. */
  ids: Record<string, string>;
  names: Record<string, string>;
  /** The receiver of everything that the tenant's resources send. */
  trap: Trap;
}

interface Making {
  here: TestInstallation;
  client: Client;
  /** The prefix of every name. */
  mark: string;
  /** The prefix of everything private. */
  hidden: string;
  /** The token that the tenant's resources name as `{{token:…}}` and as key; null: the tenant has none. */
  token: string | null;
  secret: string;
}

/** Returns bodies that create one record of each collection; another call returns those of other records. */
export function bodiesOf(
  { here, mark, hidden, token }: Omit<Making, 'client' | 'secret'>,
  ids: Record<string, string>,
  trap: Trap,
) {
  let made = 0;
  const name = (noun: string) => `${mark}_${noun}_${++made}`;
  const headers = token ? { Authorization: `Bearer {{token:${token}}}` } : {};
  return {
    tokens: () => ({
      ...{ name: `${hidden === PRIVATE ? TOKEN_PRIVATE : hidden}-${++made}`, value: `${mark}-value-${made}` },
      description: hidden === PRIVATE ? TOKEN_PRIVATE : '',
    }),
    providers: () => ({
      ...{ name: name('provider'), provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'm' },
      api_key_token_name: token,
    }),
    'custom-tools': () => {
      const tool = name('tool');
      return { name: tool, source_code: toolSource(tool), env_config: { KEY: { token_name: token } }, tags: [TAG] };
    },
    mcps: () => ({
      ...{ name: name('server'), transport_type: 'http', tags: [TAG] },
      connection_config: { url: `${trap.url}/${mark}/mcp`, headers },
    }),
    'knowledge-sources': () => ({ name: name('source'), tags: [TAG] }),
    'knowledge-items': () => ({ source_id: ids['knowledge-sources'], name: name('item'), content: 'common text', tags: [TAG] }),
    skills: () => ({ name: name('skill'), instructions: 'Be brief.', tags: [TAG] }),
    guardrails: () => ({ name: name('guardrail'), guardrail_type: 'prompt', config: { max_length: 100_000 }, tags: [TAG] }),
    agents: () => ({
      ...{ name: name('agent'), provider_id: ids.providers, custom_tool_ids: [ids['custom-tools']], mcp_server_tags: [TAG] },
      ...{ approval_tools: [], knowledge_tags: [TAG] },
    }),
    workflows: () => ({
      ...{ agent_id: ids.agents, title: `${hidden} title ${++made}`, output_format: 'markdown', skill_tags: [TAG] },
      ...{ guardrail_tags: [TAG], mcp_server_tags: [] },
    }),
    'scheduled-agents': () => ({
      ...{ name: `${hidden} schedule ${++made}`, workflow_id: ids.workflows, prompt: `${hidden} prompt`, interval_value: 4 },
      ...{ interval_unit: 'weeks', start_at: new Date(Date.now() + 86_400_000).toISOString() },
    }),
    alerts: () => ({
      ...{ name: `${hidden} alert ${++made}`, measure: 'backlog', threshold: 1_000_000, workflow_id: ids.workflows },
      webhook_url: `${trap.url}/${mark}/alert`,
    }),
    // Administrators may see the names of budgets and keys.
    budgets: () => ({
      ...{ name: name('budget'), scope: 'workflow', subject_id: ids.workflows, period: 'day', limit_tokens: 1_000_003 },
    }),
    keys: () => ({ name: name('service_key'), scopes: ['read'] }),
    attachments: () => {
      const form = new FormData();
      form.set('file', new File([hidden], `${hidden}.txt`));
      return form;
    },
    datasets: () => ({ name: `${hidden} dataset ${++made}`, description: hidden }),
    threads: () => ({ agent_id: ids.agents, title: `${hidden} thread ${++made}`, metadata: { topic: hidden } }),
    memories: () => ({
      ...{
        agent_id: ids.agents,
        scope: 'session',
        workflow_id: ids.workflows,
        key: `${hidden} key ${++made}`,
        value: `${hidden} value`,
      },
    }),
  } satisfies Record<string, () => object>;
}

const remoteSource = ({ mark, token }: Pick<Making, 'mark' | 'token'>, trap: Trap) => ({
  ...{ name: `${mark}_remote`, source_type: 'vector_db', tags: [TAG] },
  connection_config: { url: `${trap.url}/${mark}/qdrant`, collection: 'c', ...(token ? { api_key: `{{token:${token}}}` } : {}) },
});

export type Bodies = ReturnType<typeof bodiesOf>;

async function makeShared(making: Making): Promise<Tenant & { bodies: Bodies; create(collection: string): Promise<string> }> {
  const trap = await startTrap();
  const ids: Record<string, string> = {};
  const names: Record<string, string> = {};
  const bodies = bodiesOf(making, ids, trap);
  const { client } = making;
  const create = async (collection: string) => {
    const body = (bodies as Record<string, () => object>)[collection]?.();
    const record = await client.ok(client.post(`/api/${collection}`, body), 201);
    names[collection] = record.name;
    return record.id as string;
  };
  if (making.token) await client.ok(client.post('/api/tokens', { name: making.token, value: making.secret }), 201);
  const order = ['tokens', 'providers', 'custom-tools', 'mcps', 'knowledge-sources', 'knowledge-items', 'skills', 'guardrails'];
  for (const collection of [
    ...order,
    'agents',
    'workflows',
    'scheduled-agents',
    'alerts',
    'budgets',
    'memories',
    'datasets',
    'threads',
    'keys',
    'attachments',
  ])
    ids[collection] = await create(collection);
  ids.remote_source = (await client.ok(client.post('/api/knowledge-sources', remoteSource(making, trap)), 201)).id;
  await conversationOf(making, ids);
  ids.idle_workflow = await create('workflows');
  ids.item_id = (
    await client.ok(client.post(`/api/datasets/${ids.datasets}/items`, { prompt: `${making.hidden} item` }), 201)
  ).id;
  ids.step = '1';
  ids.skill_id = ids.skills as string;
  ids.agent_id = ids.agents as string;
  ids.workflow_id = ids.workflows as string;
  // This is the number of its version.
  ids.number = '1';
  return { client, ids, names, trap, bodies, create };
}

/** Creates a conversation of /v1 with an item. */
async function conversationOf({ client, hidden }: Pick<Making, 'client' | 'hidden'>, ids: Record<string, string>): Promise<void> {
  const items = [{ role: 'user', content: `${hidden} message` }];
  const { id } = await client.ok(client.post('/v1/conversations', { metadata: { topic: hidden }, items }));
  ids.conversations = id;
  ids.conversation_item = (await client.ok(client.get(`/v1/conversations/${id}/items`))).data[0].id;
}

export type MadeTenant = Awaited<ReturnType<typeof makeShared>>;

/** Creates the first tenant: one of everything with private texts in all of it, and a run of each kind. */
export async function firstTenant(here: TestInstallation): Promise<MadeTenant> {
  const making = { here, client: here.alice, mark: 'first', hidden: PRIVATE, token: TOKEN, secret: SECRET };
  const tenant = await makeShared(making);
  const { ids, names, trap, client } = tenant;
  const hook = await startReceiver();
  const stopTrap = trap.stop;
  trap.stop = () => Promise.all([stopTrap(), hook.stop()]).then(() => {});
  const change = (path: string, body: object) => client.ok(client.put(`/api/${path}`, body));
  await change(`workflows/${ids.workflows}`, { webhook_url: `${hook.url}?${PRIVATE}=1`, repo_token_name: names.tokens });
  ids.listed_provider = (
    await client.ok(client.post('/api/providers', { ...tenant.bodies.providers(), base_url: `${trap.url}/first/v1` }))
  ).id;
  await client.ok(client.post('/api/memories', { agent_id: ids.agents, key: TAKEN.key, value: 'known to all' }), 201);

  here.model.script(says(`${PRIVATE} answer`));
  ids.ended_task = await here.prompt(ids.workflows as string, `${PRIVATE} prompt`);
  await here.ended(ids.ended_task);
  await until('the webhook is delivered', async () => {
    const [delivery] = (await client.get(`/api/tasks/${ids.ended_task}/webhooks`)).body as unknown as {
      id: string;
      status: string;
    }[];
    ids.delivery_id = delivery?.id as string;
    return delivery?.status === 'delivered';
  });
  const score = { value: 3, note: `${PRIVATE} note` };
  ids.score_id = (await client.ok(client.post(`/api/tasks/${ids.ended_task}/scores`, score), 201)).id;
  ids.run_id = await evaluationOf(here, tenant);
  here.model.script(says(`${PRIVATE} reply`));
  const chat = await client.post(`/api/agents/${ids.agents}/chat`, { message: `${PRIVATE} question` });
  ids.session_id = JSON.parse(/data: (.*)/.exec(chat.body as unknown as string)?.[1] ?? '{}').session_id;

  await change(`agents/${ids.agents}`, { approval_tools: [names['custom-tools']] });
  here.model.script(asks({ name: names['custom-tools'] as string, args: { a: 2 } }));
  ids.tasks = await here.prompt(ids.workflows as string, `${PRIVATE} question`);
  await until('the run waits for approval', async () => {
    const { body } = await client.get(`/api/tasks/${ids.tasks}`);
    return body.status === 'waiting';
  });
  const { body: steps } = await client.get(`/api/tasks/${ids.tasks}/steps`);
  ids.call_id = /"call_id":"([^"]+)"/.exec(JSON.stringify(steps))?.[1] as string;
  return tenant;
}

/** Creates an evaluation of the tenant's dataset, and waits for its end. */
async function evaluationOf(here: TestInstallation, { client, ids }: MadeTenant): Promise<string> {
  here.model.script(says(`${PRIVATE} graded`));
  const path = `/api/datasets/${ids.datasets}/runs`;
  const order = { workflow_id: ids.idle_workflow, graders: [{ type: 'regex', pattern: PRIVATE }] };
  const { id } = await client.ok(client.post(path, order), 201);
  await until('the evaluation has ended', async () => (await client.get(`${path}/${id}`)).body.status === 'completed');
  return id as string;
}

/** Creates another tenant, whose own records and run are the base of its attempts. */
export async function secondTenant(
  here: TestInstallation,
  { client, mark }: { client: Client; mark: string },
): Promise<MadeTenant> {
  const tenant = await makeShared({ here, client, mark, hidden: mark, token: null, secret: '' });
  const { ids } = tenant;
  here.model.script(says(`${mark} answer`));
  ids.tasks = (await client.ok(client.post(`/api/workflows/${ids.workflows}/prompt`, { prompt: mark }), 201)).task_id;
  await until('the run has a step', async () => (await client.get(`/api/tasks/${ids.tasks}`)).body.steps === 1);
  return tenant;
}
