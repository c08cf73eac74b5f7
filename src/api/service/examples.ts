import { AgentCreate } from '../../contracts/agents.ts';
import { CustomToolCreate } from '../../contracts/custom-tools.ts';
import { GuardrailCreate } from '../../contracts/guardrails.ts';
import { KnowledgeItemCreate, KnowledgeSourceCreate } from '../../contracts/knowledge.ts';
import { McpServerCreate } from '../../contracts/mcps.ts';
import { MemoryCreate } from '../../contracts/memories.ts';
import { ProviderCreate } from '../../contracts/providers.ts';
import { ScheduledAgentCreate } from '../../contracts/scheduled-agents.ts';
import { SkillCreate } from '../../contracts/skills.ts';
import { StoredTokenCreate } from '../../contracts/tokens.ts';
import { UsageTotals } from '../../contracts/usage-counts.ts';
import { WorkflowCreate } from '../../contracts/workflows.ts';

/** One desk that answers refund requests, from the key of its model to the run of one prompt. All ids are of this desk. */
export const EXAMPLE_ID = '0198a3c4-5e17-7d2b-9c41-3f60a7b21e53';
const idOf = (number: number) => `0198a3c4-5e17-7d2b-9c41-3f60a7b2${(0x1000 + number).toString(16)}`;
const IDS = {
  provider: idOf(2),
  skill: idOf(3),
  tool: idOf(5),
  mcp_server: idOf(7),
  source: idOf(11),
  agent: idOf(13),
  workflow: idOf(17),
  schedule: idOf(19),
  task: EXAMPLE_ID,
};

const CREATED_AT = '2026-03-02T08:15:00.000Z';
const STARTED_AT = '2026-03-02T09:30:00.000Z';
const ENDED_AT = '2026-03-02T09:30:17.000Z';
const written = (id: string) => ({ id, created_by: 'local:alice', created_at: CREATED_AT, updated_at: CREATED_AT });

const PROMPT = 'Order 4711 arrived broken. Refund it.';
const PARAMETERS = {
  type: 'object',
  properties: { order: { type: 'string' }, cents: { type: 'integer' } },
  required: ['order', 'cents'],
};

/** Request bodies, by the name of their schema. */
export const BODIES = {
  StoredTokenCreate: { name: 'openai-key', value: 'sk-…', description: 'Key of the support team' },
  ProviderCreate: {
    name: 'my-openai',
    provider_type: 'openai',
    api_key_token_name: 'openai-key',
    default_model: 'gpt-4o-mini',
  },
  SkillCreate: { name: 'kind-tone', instructions: 'Thank the customer first.', tags: ['support'] },
  CustomToolCreate: {
    name: 'refund',
    source_code: 'def refund(order: str, cents: int) -> dict:\n    return {"order": order, "refunded": cents}\n',
    effect: 'write',
  },
  McpServerCreate: {
    name: 'orders',
    transport_type: 'http',
    connection_config: { url: 'https://orders.example.com/mcp', headers: { Authorization: 'Bearer {{token:orders-key}}' } },
  },
  GuardrailCreate: {
    name: 'no-secrets',
    guardrail_type: 'output',
    config: { forbidden_patterns: ['(?i)password'], action: 'redact' },
  },
  KnowledgeSourceCreate: { name: 'handbook', description: 'How refunds are decided' },
  KnowledgeItemCreate: {
    source_id: IDS.source,
    name: 'Refund policy',
    content: 'Orders are refunded within 30 days.',
    tags: ['refunds'],
  },
  AgentCreate: {
    name: 'Refund desk',
    system_prompt: 'You decide refund requests by the handbook.',
    provider_id: IDS.provider,
    custom_tool_ids: [IDS.tool],
    knowledge_source_ids: [IDS.source],
    approve_effects: ['write'],
  },
  MemoryCreate: { agent_id: IDS.agent, key: 'preferred language', value: 'German' },
  MemorySearch: { agent_id: IDS.agent, query: 'Which language does she want?' },
  DatasetCreate: { name: 'Refund requests', description: 'Decided by hand' },
  TokenGrantCreate: { resource_type: 'provider', resource_id: IDS.provider, destination: 'k7Qa2Zk9' },
  WorkflowCreate: { agent_id: IDS.agent, title: 'Refunds', max_turns: 7, output_format: 'markdown', skill_ids: [IDS.skill] },
  PromptRequest: { prompt: PROMPT },
  ScheduledAgentCreate: {
    name: 'Refunds of the night',
    workflow_id: IDS.workflow,
    prompt: 'Decide the requests that came in since yesterday.',
    cron: '30 7 * * MON-FRI',
    time_zone: 'Europe/Berlin',
  },
} as const;

/** What was sent, with its defaults. Records show these fields, except those that are never returned with them. */
const { value: _, ...token } = StoredTokenCreate.parse(BODIES.StoredTokenCreate);
const { content: __, ...item } = KnowledgeItemCreate.parse(BODIES.KnowledgeItemCreate);
const usage = UsageTotals.parse({
  total_in: 1_307,
  total_out: 211,
  cost: 0.00037,
  cache_read: 0,
  cache_write: 0,
  premium_requests: 0,
  priced: true,
  estimated: false,
});

const workflow = {
  id: IDS.workflow,
  ...WorkflowCreate.parse(BODIES.WorkflowCreate),
  owner: 'alice',
  status: 'completed',
  enabled: true,
  current_turn: 1,
  task_count: 1,
  last_task_status: 'completed',
  last_task_at: STARTED_AT,
  usage,
  created_at: CREATED_AT,
  updated_at: ENDED_AT,
};

const task = {
  id: IDS.task,
  workflow_id: IDS.workflow,
  workflow_title: BODIES.WorkflowCreate.title,
  agent_id: IDS.agent,
  agent_name: BODIES.AgentCreate.name,
  model: BODIES.ProviderCreate.default_model,
  reasoning_effort: null,
  status: 'completed',
  prompt: PROMPT,
  attachments: [],
  trigger: 'prompt',
  scheduled_agent_id: null,
  thread_id: null,
  previous_task_id: null,
  thread_turn: null,
  response: 'Order 4711 is refunded.',
  error: null,
  error_code: null,
  usage,
  turns: 1,
  tool_calls: 1,
  steps: 2,
  turn_limit_reached: false,
  truncated: false,
  record_behind: null,
  definition_hash: 'f3a9c1d27b64',
  forked_from: null,
  engine_run_url: null,
  elapsed_seconds: 17,
  created_at: STARTED_AT,
  started_at: STARTED_AT,
  completed_at: ENDED_AT,
};

/** Records in replies, by the name of their schema. */
export const RECORDS: Record<string, object> = {
  StoredToken: {
    ...written(idOf(1)),
    ...token,
    masked_value: '********',
    fingerprint: 'k7Qa2Zk9',
    used_by: ['provider my-openai'],
  },
  Provider: { ...written(IDS.provider), ...ProviderCreate.parse(BODIES.ProviderCreate) },
  Skill: { ...written(IDS.skill), ...SkillCreate.parse(BODIES.SkillCreate) },
  CustomTool: {
    ...written(IDS.tool),
    ...CustomToolCreate.parse(BODIES.CustomToolCreate),
    parameters_schema: PARAMETERS,
    network: false,
    is_plugin: false,
  },
  McpServer: {
    ...written(IDS.mcp_server),
    ...McpServerCreate.parse(BODIES.McpServerCreate),
    status: 'connected',
    last_error: null,
    sign_in: null,
  },
  Guardrail: { ...written(idOf(23)), ...GuardrailCreate.parse(BODIES.GuardrailCreate) },
  KnowledgeSource: {
    ...written(IDS.source),
    ...KnowledgeSourceCreate.parse(BODIES.KnowledgeSourceCreate),
    status: 'connected',
    last_error: null,
  },
  KnowledgeItem: { ...written(idOf(29)), ...item, status: 'indexed', last_error: null, chunks: 1 },
  Agent: { ...written(IDS.agent), ...AgentCreate.parse(BODIES.AgentCreate) },
  Memory: { ...written(idOf(31)), ...MemoryCreate.parse(BODIES.MemoryCreate), task_id: IDS.task, owner: null },
  WorkflowSummary: workflow,
  Workflow: { ...workflow, messages: [], logs: [] },
  PromptAccepted: {
    task_id: IDS.task,
    workflow_id: IDS.workflow,
    thread_id: null,
    status: 'pending',
    prompt: PROMPT,
    created_at: STARTED_AT,
    stream_url: `/api/workflows/${IDS.workflow}/stream?task_id=${IDS.task}`,
  },
  Task: task,
  ScheduledAgent: {
    id: IDS.schedule,
    start_at: CREATED_AT,
    ...ScheduledAgentCreate.parse(BODIES.ScheduledAgentCreate),
    enabled: true,
    disabled_reason: null,
    last_run_at: null,
    next_run_at: '2026-03-03T06:30:00.000Z',
    created_at: CREATED_AT,
    updated_at: CREATED_AT,
  },
  Problem: {
    type: 'about:blank',
    title: 'Not Found',
    status: 404,
    code: 'not_found',
    request_id: IDS.source,
    detail: `No agent with id ${IDS.agent}`,
  },
};
