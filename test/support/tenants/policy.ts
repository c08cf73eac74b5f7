import { CallSettingFields } from '../../../src/contracts/call-settings.ts';
import { bareName } from './requests.ts';

/**
 * The expected statuses for a caller who does not own the record in the path: `b` for another principal, `admin` for an
 * administrator. `own` operations have no record in the path and act only for the caller.
 */
export interface Rule {
  b: readonly number[];
  admin: readonly number[];
}

const FINE = [200, 201, 202, 204];
const RULES = {
  /** Needs no authentication. */
  open: { b: FINE, admin: FINE },
  /** Acts for the caller: lists own or shared records, or creates one that the caller owns. */
  own: { b: FINE, admin: FINE },
  /** Owned by one principal; administrators have no special rights. */
  private: { b: [403], admin: [403] },
  /** A workflow's memory, or a file; others must not even learn whether it exists. */
  hidden: { b: [403, 404], admin: [403, 404] },
  /** Shared by the installation: everyone may read it. */
  read: { b: [200], admin: [200] },
  /** Shared by the installation, or a budget: only its creator and administrators may change it. */
  change: { b: [403], admin: FINE },
  /** Of the installation: only administrators may change it. */
  administered: { b: [403], admin: FINE },
  /** Shared by the installation and used as the caller: no secret of its creator is opened. */
  use: { b: [200, 403, 502], admin: [200, 403, 502] },
  /** Shared by the installation: the operation changes only the caller's part. */
  each: { b: FINE, admin: FINE },
  /** Requires a word that only the person who began has. */
  begun: { b: [409], admin: [409] },
  /** Stored tokens and service keys: administrators may delete what they may not read. */
  expendable: { b: [403], admin: [204] },
  /** Stored tokens, service keys and budgets: administrators may list them, to delete them. */
  listed: { b: [403], admin: [200] },
} satisfies Record<string, Rule>;

const crud = (path: string) => ({
  own: [`GET ${path}`, `POST ${path}`],
  read: [`GET ${path}/{id}`],
  change: [`PUT ${path}/{id}`, `DELETE ${path}/{id}`],
});
const shared = [
  'agents',
  'providers',
  'skills',
  'guardrails',
  'mcps',
  'knowledge-sources',
  'knowledge-items',
  'custom-tools',
].map((collection) => crud(`/api/${collection}`));

const OPERATIONS: Record<keyof typeof RULES, string[]> = {
  open: ['GET /health/live', 'GET /health/ready'],
  own: [
    ...shared.flatMap(({ own }) => own),
    ...['agents', 'skills', 'workflows', 'knowledge-sources', 'guardrails', 'scheduled-agents'].flatMap((collection) => [
      `GET /api/${collection}/export`,
      `POST /api/${collection}/import`,
    ]),
    ...['GET /api/export', 'POST /api/import', 'POST /api/mcps/import', 'GET /api/me', 'GET /api/builtin-tools'],
    'GET /api/changes',
    ...['GET /api/me/settings', 'PUT /api/me/settings', 'GET /api/models/catalogue'],
    ...['GET /api/tasks/errors', 'GET /api/usage', 'GET /api/usage/tools', 'GET /api/usage/models'],
    ...['GET /api/models', 'GET /api/tokens', 'POST /api/tokens', 'GET /api/memories', 'POST /api/memories'],
    ...['POST /api/memories/search', 'GET /api/memories/stm/{agent_id}', 'POST /api/knowledge-items/query'],
    ...['POST /api/knowledge-items/upload', 'POST /api/custom-tools/upload', 'POST /api/custom-tools/validate'],
    ...['GET /api/workflows', 'POST /api/workflows', 'GET /api/tasks', 'GET /api/inbox', 'GET /api/scheduled-agents'],
    'POST /api/scheduled-agents',
    ...[
      'POST /api/scheduled-agents/preview',
      'GET /api/alerts',
      'POST /api/alerts',
      'GET /api/budgets',
      'POST /api/budgets',
      'GET /api/keys',
      'POST /api/keys',
    ],
    ...['POST /api/agents/{agent_id}/chat', 'GET /api/agents/{agent_id}/chat/sessions'],
    ...['GET /api/webhook-secret', 'POST /api/webhook-secret/rotate', 'POST /api/providers/test', 'GET /api/providers/presets'],
    ...['GET /api/datasets', 'POST /api/datasets', 'GET /api/threads', 'POST /api/threads', 'POST /api/attachments'],
    ...['GET /v1/models', 'POST /v1/chat/completions', 'POST /v1/responses', 'POST /v1/conversations', 'POST /mcp'],
  ],
  private: [
    ...['GET', 'PUT', 'DELETE'].map((method) => `${method} /api/workflows/{id}`),
    ...['POST', 'DELETE'].map((method) => `${method} /api/workflows/{id}/skills/{skill_id}`),
    ...['GET /api/workflows/{id}/versions', 'GET /api/workflows/{id}/versions/{number}'],
    'POST /api/workflows/{id}/versions/{number}/restore',
    ...['POST /api/workflows/{id}/prompt', 'POST /api/workflows/{id}/halt', 'GET /api/workflows/{id}/stream'],
    ...['GET /api/workflows/{id}/export', 'GET /api/tasks/workflow/{workflow_id}', 'GET /api/tasks/{id}'],
    ...['progress', 'steps', 'steps/{step}', 'steps/{step}/request', 'timeline', 'bundle', 'webhooks'].map(
      (part) => `GET /api/tasks/{id}/${part}`,
    ),
    ...['fork', 'stop', 'budget', 'continuity', 'approvals/{call_id}', 'reconciliations/{call_id}', 'answers/{call_id}'].map(
      (part) => `POST /api/tasks/{id}/${part}`,
    ),
    ...['GET', 'PUT', 'DELETE'].flatMap((method) => ['datasets', 'threads'].map((part) => `${method} /api/${part}/{id}`)),
    ...['POST', 'GET'].flatMap((method) => ['ui', 'ag-ui'].map((part) => `${method} /api/threads/{id}/${part}`)),
    ...['GET /api/threads/{id}/ui/messages', 'GET /api/threads/{id}/ui/{chat_id}/stream'],
    ...['POST', 'DELETE'].map((method) => `${method} /api/threads/{id}/tokens`),
    ...['GET', 'POST'].map((method) => `${method} /api/threads/{id}/messages`),
    ...['GET', 'DELETE'].flatMap((method) =>
      ['threads', 'tasks'].map((part) => `${method} /api/${part}/{id}/messages/{message_id}`),
    ),
    ...['GET', 'POST'].flatMap((method) => ['items', 'runs'].map((part) => `${method} /api/datasets/{id}/${part}`)),
    ...['POST /api/datasets/{id}/items/import', 'DELETE /api/datasets/{id}/items/{item_id}'],
    ...['GET /api/datasets/{id}/runs/{run_id}', 'GET /api/datasets/{id}/runs/{run_id}/results'],
    'POST /api/datasets/{id}/runs/{run_id}/halt',
    ...['GET', 'POST'].map((method) => `${method} /api/tasks/{id}/scores`),
    ...['DELETE /api/tasks/{id}/scores/{score_id}', 'GET /api/workflows/{id}/scores'],
    'POST /api/tasks/{id}/webhooks/{delivery_id}/redeliver',
    ...['GET', 'DELETE'].map((method) => `${method} /api/agents/{agent_id}/chat/sessions/{session_id}`),
    'POST /api/agents/{agent_id}/chat/sessions/{session_id}/stop',
    'GET /api/agents/{agent_id}/chat/sessions/{session_id}/stream',
    ...['GET', 'PATCH', 'DELETE'].map((method) => `${method} /api/scheduled-agents/{id}`),
    ...['PATCH /api/scheduled-agents/{id}/enable', 'PATCH /api/scheduled-agents/{id}/disable'],
    ...['POST /api/scheduled-agents/{id}/trigger', 'GET /api/scheduled-agents/{id}/runs'],
    ...['POST /api/scheduled-agents/{id}/backfill', 'GET /api/scheduled-agents/{id}/upcoming'],
    'GET /api/scheduled-agents/{id}/export',
    ...['GET /api/alerts/{id}', 'PUT /api/alerts/{id}', 'DELETE /api/alerts/{id}', 'GET /api/alerts/{id}/events'],
    'POST /api/alerts/{id}/test',
    ...['GET', 'POST'].map((method) => `${method} /v1/chat/completions/{id}`),
    ...['GET /v1/models/{model}', 'GET /v1/responses/{id}', 'POST /v1/responses/{id}/cancel'],
    ...['PUT /api/tokens/{id}', 'GET /api/tokens/{id}/uses', 'GET /api/tokens/{id}/grants', 'POST /api/tokens/{id}/grants'],
    ...['DELETE /api/tokens/{id}/grants/{grant_id}', 'POST /api/keys/{id}/rotate'],
  ],
  hidden: [
    ...['GET /api/memories/{id}', 'PUT /api/memories/{id}', 'DELETE /api/memories/{id}'],
    ...['GET /api/attachments/{id}', 'GET /api/attachments/{id}/content', 'DELETE /api/attachments/{id}'],
    ...['GET', 'POST', 'DELETE'].map((method) => `${method} /v1/conversations/{id}`),
    ...['GET', 'POST'].map((method) => `${method} /v1/conversations/{id}/items`),
    ...['GET', 'DELETE'].map((method) => `${method} /v1/conversations/{id}/items/{item_id}`),
  ],
  read: [
    ...shared.flatMap(({ read }) => read),
    ...['GET /api/agents/{id}/export', 'GET /api/skills/{id}/export', 'GET /api/knowledge-sources/{id}/export'],
    ...['GET /api/guardrails/{id}/export', 'GET /api/mcps/{id}/tools'],
    ...['GET /api/knowledge-items/{id}/content', 'POST /api/guardrails/{id}/check', 'GET /api/custom-tools/{id}/env-mapping'],
  ],
  change: [
    ...shared.flatMap(({ change }) => change),
    ...[
      'PUT /api/mcps/{id}/tools',
      'PUT /api/custom-tools/{id}/env-mapping',
      'PUT /api/budgets/{id}',
      'DELETE /api/budgets/{id}',
    ],
  ],
  use: [
    ...['POST /api/providers/{id}/test', 'POST /api/mcps/{id}/test', 'POST /api/mcps/{id}/tools/refresh'],
    ...['POST /api/mcps/{id}/prompts', 'POST /api/mcps/{id}/prompts/fill'],
    ...['POST /api/knowledge-sources/{id}/test', 'POST /api/custom-tools/{id}/run', 'POST /api/mcps/{id}/sign-in'],
  ],
  each: ['DELETE /api/mcps/{id}/sign-in', 'DELETE /api/mcps/{id}/state'],
  begun: ['POST /api/mcps/sign-in'],
  expendable: ['DELETE /api/tokens/{id}', 'DELETE /api/keys/{id}'],
  administered: ['POST /api/models/catalogue', 'DELETE /api/models/catalogue'],
  listed: ['GET /api/tokens/{id}', 'GET /api/keys/{id}', 'GET /api/audit', 'GET /api/system', 'GET /api/budgets/{id}'],
};

/** The rule of each operation, such as `GET /api/agents`. An operation that is missing here fails the test. */
export const POLICY = new Map(
  (Object.keys(OPERATIONS) as (keyof typeof RULES)[]).flatMap((kind) =>
    OPERATIONS[kind].map((operation) => [operation, { kind, ...RULES[kind] }] as const),
  ),
);

/**
 * The kinds of record that fields of a request refer to, by a field's last name. A field that is neither here nor plain fails
 * the test.
 */
export const REFERENCES: Record<
  string,
  | 'shared'
  | 'private'
  | 'token'
  | 'unique'
  | 'import_id'
  | 'memory_key'
  | 'granted'
  | 'door_model'
  | 'response'
  | 'conversation'
  | 'parent'
> = {
  ...{ agent_id: 'shared', provider_id: 'shared', source_id: 'shared', source_ids: 'shared', skill_ids: 'shared' },
  ...{ guardrail_ids: 'shared', mcp_server_ids: 'shared', required_mcp_servers: 'shared', custom_tool_ids: 'shared' },
  ...{ knowledge_source_ids: 'shared', tag: 'shared', tags: 'shared', skill_tags: 'shared', guardrail_tags: 'shared' },
  ...{ mcp_server_tags: 'shared', knowledge_tags: 'shared', approval_tools: 'shared', allowed_tools: 'shared' },
  ...{
    workflow_id: 'private',
    budget_id: 'private',
    session_id: 'private',
    task_id: 'private',
    baseline_id: 'private',
    tool_id: 'private',
  },
  subject_id: 'private',
  thread_id: 'private',
  head_task_id: 'private',
  ...{ api_key_token_name: 'token', repo_token_name: 'token', credential_overrides: 'token', env_config: 'token' },
  ...{ token_name: 'token', env_mapping: 'token', connection_config: 'token', headers: 'token', env: 'token' },
  previous_response_id: 'response',
  conversation: 'conversation',
  ...{ resource_id: 'granted', name: 'unique', id: 'import_id', key: 'memory_key' },
};

/** Fields that refer to nothing: texts, numbers, switches, and the containers of the fields above. */
const PLAIN = new Set(
  [
    'turns description system_prompt model builtin_tools tool_definitions type function parameters provider_type base_url auth_type',
    'approve_effects azure_api_version azure_deployment default_model requests_per_minute price_table input output cache_read cache_write',
    'context_window instructions guardrail_type enabled config text transport_type network paths state connect_seconds protocol mcpServers servers mcp transport command args',
    'url scope value metadata ttl query limit source_type content content_type file version resource_type items exported_at skills',
    'agents workflows knowledge_sources source_code parameters_schema is_enabled effect arguments title max_turns output_format output_schema',
    'reasoning_effort infinite_session bypass_memory auto_memory tsv_tool_results caveman repo_url repo_branch webhook_url',
    'error_webhook_url budget max_cost_usd max_tokens max_seconds on_exhausted on_busy when_busy on_inactive remember pinned status prompt request from_step effects',
    'decision message result interval_value interval_unit start_at end_at overlap_policy catchup_window_seconds messages role refusal',
    'stream stream_options include_usage background reasoning effort jsonrpc method shared cursor q since from to tool by interval zone most until error_code trigger definition_hash against agent min_cost max_cost sort after before skip dry_run',
    'model_total_seconds model_silence_seconds starting_after measure threshold window_minutes min_runs muted_until channels views screen resource_type destination api_key force include guardrails',
    'period limit_usd limit_tokens warn_at',
    'thumb note expected graders ignore_case pattern json_schema parallel format task steps tool_calls end response',
    'role scopes expires_at grace_seconds principal service_key_id operation failed answered_by changes step position single_use score pass_at',
    'response_format schema verbosity tools tool_choice order',
    'cron time_zone jitter_seconds pause_after_failures count count_to scheduled_agents',
    'question_id action state code iss disabled allow_secret_questions',
    ...Object.keys(CallSettingFields),
    'in_thread origins ttl_seconds parts messageId threadId runId context forwardedProps resume interruptId payload',
    'attachments media_type data above tokens digest file_name fallbacks on fallback_minutes kind tool',
  ].flatMap((line) => line.split(' ')),
);

/** Operations in which a field has another meaning than its name has elsewhere. */
const EXCEPTIONS: Record<string, (typeof REFERENCES)[string] | 'plain'> = {
  'POST /api/knowledge-items source_id': 'parent',
  'PUT /api/knowledge-items/{id} source_id': 'parent',
  'POST /v1/chat/completions model': 'door_model',
  'POST /v1/responses model': 'door_model',
  'PUT /api/me/settings views[].name': 'plain',
  'POST /api/workflows/{id}/prompt attachments[].id': 'private',
  'POST /api/threads/{id}/messages attachments[].id': 'private',
  'POST /api/threads/{id}/messages attachments[].name': 'plain',
  'POST /api/workflows/{id}/prompt attachments[].name': 'plain',
  // These are names of tools in the record of a run.
  'POST /api/datasets/{id}/items/import steps[].tool_calls[].name': 'plain',
  // An item that names someone else's workflow is not imported.
  'POST /api/import scheduled_agents[].workflow_id': 'shared',
  'POST /api/scheduled-agents/import items[].workflow_id': 'shared',
  'POST /v1/responses conversation.id': 'conversation',
  // The id is compared with the server of the sign-in that was begun.
  'POST /api/mcps/sign-in server_id': 'plain',
  'POST /api/mcps/{id}/prompts/fill name': 'plain',
  'POST /mcp id': 'plain',
  // Pages choose the ids of their chats and messages, and the names of their tools.
  'POST /api/threads/{id}/ui id': 'plain',
  'POST /api/threads/{id}/ui messages[].id': 'plain',
  'POST /api/threads/{id}/ui tools[].name': 'plain',
  'POST /api/threads/{id}/ag-ui messages[].id': 'plain',
  'POST /api/threads/{id}/ag-ui tools[].name': 'plain',
  'POST /mcp [].id': 'plain',
};

/** Returns the kind that a field of an operation refers to; undefined: the policy does not know the field. */
export const kindOf = ({ name }: { name: string }, field: string) =>
  EXCEPTIONS[`${name} ${field}`] ?? REFERENCES[bareName(field)] ?? (PLAIN.has(bareName(field)) ? 'plain' : undefined);
