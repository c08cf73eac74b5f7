import { createHash } from 'node:crypto';
import type pg from 'pg';

/**
 * Rows for every table in which right and wrong look different: several owners, equal names and times, times at the moment, just
 * before and after it, and every status. A value depends on its table, row and column alone, so that a new column changes no other.
 */
const ROWS: Record<string, number> = {
  principals: 2,
  definitions: 36,
  providers: 4,
  agents: 3,
  custom_tools: 8,
  mcp_servers: 12,
  skills: 12,
  guardrails: 12,
  knowledge_sources: 10,
  stored_tokens: 5,
  workflows: 9,
  attachments: 8,
  scheduled_agents: 14,
  threads: 6,
  tasks: 60,
  task_steps: 120,
  tool_calls: 150,
  task_messages: 360,
  task_scores: 40,
  task_attachments: 6,
  conversation_items: 12,
  conversation_files: 3,
  event_sequences: 5,
  event_gaps: 15,
  events: 60,
  workflow_versions: 38,
  workspace_layers: 8,
  schedule_fires: 140,
  secret_grants: 120,
  token_uses: 30,
  memories: 60,
  knowledge_items: 8,
  knowledge_chunks: 16,
  datasets: 3,
  dataset_items: 8,
  evaluations: 8,
  evaluation_results: 24,
  alerts: 40,
  alert_events: 16,
  webhook_deliveries: 20,
  webhook_attempts: 10,
  webhook_secrets: 2,
  chat_sessions: 3,
  chat_messages: 24,
  chat_parts: 16,
  service_keys: 12,
  grant_keys: 2,
  mcp_listings: 6,
  mcp_sign_ins: 8,
  mcp_sign_in_attempts: 6,
  provider_rates: 3,
  named_windows: 3,
  idempotency_keys: 10,
  browser_sessions: 6,
  audit_entries: 10,
  audit_queue: 5,
  installation_facts: 6,
  worker_beats: 6,
  usage_runs: 40,
  usage_calls: 40,
};

/** Seconds from the moment. A day, an hour and ten minutes are limits of statements. */
export const TIMES = [-5_000_000, -172_800, -86_400, -86_399, -3_600, -600, -60, 0, 60, 3_600, 172_800];

const OWNERS = ['local:alice', 'local:bob'];
const LOGINS = ['alice', 'bob'];
const STATUSES = ['running', 'pending', 'waiting', 'pending', 'completed', 'running', 'failed', 'halted', 'pending', 'completed'];

export const hash = (...parts: (string | number)[]): number => createHash('md5').update(parts.join(' ')).digest().readUInt32BE(0);
export const pickFrom = <T>(values: readonly T[], ...by: (string | number)[]): T => values[hash(...by) % values.length]!;

/** The id of a row; `nameOf` gives its table and number back. */
export const idOf = (table: string, row: number): string =>
  `${createHash('md5').update(table).digest('hex').slice(0, 8)}-0000-7000-8000-${String(row).padStart(12, '0')}`;

const at = (seconds: number) => ({ sql: `now() + make_interval(secs => ${seconds})` });
type Value = string | number | boolean | null | object;

/** What a column holds wherever it occurs. */
const BY_COLUMN: Record<string, readonly Value[]> = {
  owner: OWNERS,
  created_by: OWNERS,
  principal: OWNERS,
  granted_by: OWNERS,
  owner_login: LOGINS,
  created_login: LOGINS,
  login: LOGINS,
  name: ['one', 'two', 'three'],
  token_name: ['stored_tokens one', 'stored_tokens two', 'stored_tokens three', 'none'],
  api_key_token_name: ['stored_tokens one', 'stored_tokens two', null],
  repo_token_name: ['stored_tokens one', 'stored_tokens three', null],
  key_id: ['k1', 'k2'],
  caller_key_id: ['k1', 'k2'],
  destination: ['there', 'elsewhere'],
  tags: [['red'], ['blue'], ['red', 'blue'], []],
  mcp_server_tags: [['red'], []],
  skill_tags: [['red'], ['blue']],
  guardrail_tags: [['red'], ['blue']],
  knowledge_tags: [['blue'], []],
  effect: ['read', 'write', 'idempotent'],
  effects: ['stub', 'recorded', 'live'],
  trigger: ['prompt', 'schedule', 'evaluation'],
  on_busy: ['enqueue', 'interrupt', 'reject'],
  kind: ['reply', 'result', 'partial', 'denial', 'summary', 'prompt'],
  role: ['user', 'assistant', 'tool'],
  scope: ['global', 'agent', 'session'],
  content: ['red fox', 'blue fox', 'dog', '', 'unknown'],
  value: ['red fox', 'blue fox', 'dog'],
  definition_hash: Array.from({ length: 6 }, (_, row) => `definitions ${row}`),
  model: ['small', 'large', null],
  lease: [idOf('lease', 0), idOf('lease', 1)],
  arguments: ['{"a":1}', '{"a":2}'],
  max_turns: [4],
  position: [0, 1, 2, 3],
  step: [1, 2],
  hash: [],
};

const EVERY = (prefix: string) => (row: number) => `${prefix} ${row}`;
const own = (table: string) => (row: number) => idOf(table, row);
const some =
  (table: string, most = ROWS[table]!, empty = false) =>
  (row: number, ...by: string[]) =>
    empty && hash('empty', row, ...by) % 4 === 0 ? null : idOf(table, hash('some', row, ...by) % most);
const cycle =
  (...values: readonly Value[]) =>
  (row: number) =>
    values[row % values.length]!;
const nth = (table: string, most = ROWS[table]!) => cycle(...Array.from({ length: most }, (_, row) => idOf(table, row)));
/** The rounds of a table in which each row of the parent has one a round. */
const rounds =
  (parent: string, ...values: readonly Value[]) =>
  (row: number) =>
    values[Math.floor(row / ROWS[parent]!) % values.length]!;
/** The first ones hold lanes. */
const statusOf = (row: number) => (row < 5 ? STATUSES[row]! : pickFrom(STATUSES, 'status', row));
const isLive = (row: number) => ['running', 'pending', 'waiting'].includes(statusOf(row));
const numbered = (table: string) => (row: number) => `${table} ${['one', 'two', 'three', 'four', 'five'][row] ?? row}`;

type Rule = (row: number, table: string, column: string) => Value;
const RULES: Record<string, Rule> = {
  'principals.id': cycle(...OWNERS),
  'principals.login': cycle(...LOGINS),
  'definitions.hash': EVERY('definitions'),
  'definitions.body': cycle(
    { settings: { reasoning_effort: 'high' }, webhooks: { completed: 'http://done', error: 'http://error' }, mcp_servers: [] },
    {
      ...{ settings: {}, webhooks: {}, mcp_servers: [{ a: '{{sealed:x}}' }] },
      ...{ provider: { id: idOf('providers', 0) }, model: 'model 0' },
    },
    { settings: { reasoning_effort: 'low' }, webhooks: { error: 'http://error' }, mcp_servers: [{ a: 'x' }] },
  ),
  'agents.provider_id': nth('providers'),
  'agents.custom_tool_ids': cycle([idOf('custom_tools', 1), idOf('custom_tools', 0)], [idOf('custom_tools', 2), 'gone'], []),
  'agents.mcp_server_ids': cycle([idOf('mcp_servers', 3), idOf('mcp_servers', 0)], []),
  'agents.required_mcp_servers': cycle([], [idOf('mcp_servers', 1)]),
  'agents.knowledge_source_ids': cycle([idOf('knowledge_sources', 2), idOf('knowledge_sources', 0)], []),
  'workflows.skill_ids': cycle([idOf('skills', 2), idOf('skills', 0)], []),
  'workflows.guardrail_ids': cycle([], [idOf('guardrails', 2), idOf('guardrails', 0)]),
  'custom_tools.env_config': cycle({ A: { token_name: 'stored_tokens one' } }, {}, { B: { token_name: 'stored_tokens two' } }),
  'mcp_servers.connection_config': cycle({ h: '{{token:stored_tokens two}}' }, { h: '{{ token: stored_tokens one }}' }, {}),
  'knowledge_sources.connection_config': cycle({}, { h: '{{token:stored_tokens one}}' }),
  'workflows.agent_id': nth('agents'),
  'workflows.owner': cycle(...OWNERS),
  'workflows.owner_login': cycle(...LOGINS),
  'workflows.status': cycle('running', 'active', 'waiting', 'inactive', 'running', 'completed', 'active', 'active', 'active'),
  'workflows.active_task_id': cycle(
    idOf('tasks', 0),
    null,
    idOf('tasks', 2),
    idOf('tasks', 13),
    idOf('tasks', 4),
    null,
    null,
    null,
    null,
  ),
  'workflows.last_task_id': cycle(...[25, 26, 27, 28, 29].map((row) => idOf('tasks', row)), null, null, null, null),
  'workflows.newest_interrupt': cycle(0, 4, 6, 9, 0, 0, 0, 0, 0),
  'workflows.accepted_tasks': cycle(12),
  'workflows.task_count': cycle(12, 12, 12, 12, 12, 0, 0, 0, 0),
  'workflows.single_use': cycle(false, false, true, false, false, true, true, false, true),
  'workflows.on_inactive': cycle('halt', 'finish'),
  'workflows.credential_overrides': cycle({}, { x: 'stored_tokens two' }, { y: 'stored_tokens one' }),
  'scheduled_agents.workflow_id': cycle(...[0, 1, 2, 3, 4, 5].map((row) => idOf('workflows', row))),
  'scheduled_agents.pause_after_failures': cycle(1, 2, null, 3),
  'scheduled_agents.enabled': (row) => row !== 4,
  'scheduled_agents.updated_at': cycle(at(-5_000_000), at(-600)),
  'scheduled_agents.catchup_window_seconds': cycle(3_600, 60),
  'schedule_fires.scheduled_agent_id': nth('scheduled_agents'),
  'schedule_fires.due_at': (row) => at(TIMES[Math.floor(row / 14)]!),
  'schedule_fires.outcome': (row) => pickFrom(['firing', 'failed', 'started', 'skipped', 'failed'], 'outcome', row),
  'schedule_fires.task_id': some('tasks', 60, true),
  'tasks.workflow_id': nth('workflows', 5),
  'tasks.owner': (row) => OWNERS[(row % 5) % 2]!,
  'tasks.owner_login': (row) => LOGINS[(row % 5) % 2]!,
  'tasks.status': statusOf,
  'tasks.lane_number': (row) => (row % 7 === 3 ? null : 12 - Math.floor(row / 5)),
  'tasks.completed_at': (row) => (isLive(row) ? null : at(TIMES[hash('end', row) % 8]!)),
  'tasks.started_at': (row) => (statusOf(row) === 'pending' ? null : at(-86_400)),
  'tasks.created_at': (row) => at(TIMES[hash('begin', row) % 8]! - 60),
  'tasks.restored_at': (row) => (row % 4 === 1 ? at(-600) : null),
  'tasks.record_behind': (row) => (row % 3 === 1 ? null : 'behind'),
  'tasks.continuity': (row) => (row % 5 === 2 ? 'resume' : null),
  'tasks.forked_from': (row) => (row % 6 === 5 ? idOf('tasks', row - 1) : null),
  'tasks.fork_step': (row) => (row % 6 === 5 ? 2 : null),
  'tasks.scheduled_agent_id': some('scheduled_agents', 14, true),
  'tasks.conversation_id': some('threads', 4, true),
  // Threads are of the first four workflows, as every fifth task is.
  'tasks.beside_lane': () => false,
  'task_messages.omitted': () => false,
  'tasks.thread_id': (row) => (row % 5 < 4 && hash('in thread', row) % 3 === 0 ? idOf('threads', row % 5) : null),
  'tasks.thread_turn': (row) => (row % 5 < 4 && hash('in thread', row) % 3 === 0 ? Math.floor(row / 5) + 1 : null),
  'tasks.previous_task_id': (row) => (row % 5 < 4 && row > 9 && hash('in thread', row) % 3 === 0 ? idOf('tasks', row - 5) : null),
  'threads.workflow_id': cycle(...[0, 1, 2, 3, 5, 6].map((row) => idOf('workflows', row))),
  'threads.active_task_id': cycle(null, idOf('tasks', 1), null, idOf('tasks', 13), null, idOf('tasks', 4)),
  'threads.head_task_id': cycle(...[25, 26, 27, 28].map((row) => idOf('tasks', row)), null, null),
  'threads.newest_interrupt': cycle(0, 5, 7, 2, 0, 0),
  'threads.accepted_tasks': cycle(12, 12, 12, 12, 0, 0),
  'threads.updated_at': (row) => at(TIMES[row % 8]!),
  'tasks.agent_id': nth('agents'),
  'tasks.response': (row) => (row % 3 === 0 ? 'said' : null),
  'task_steps.passed_on': (row) => {
    const used = {
      errors: 1,
      total_in: 2,
      total_out: 1,
      cache_read: 0,
      cache_write: 0,
      cost: 0.125,
      estimated: true,
      unpriced: false,
    };
    return row % 3 ? null : [{ ...used, model: 'small', provider_id: null, at: '2020-01-01T00:00:00Z' }];
  },
  'tasks.cursor': (row) => pickFrom([{ id: 'c' }, null, {}, { sql: "'null'::jsonb" }], 'cursor', row),
  'tasks.caller_token': cycle('\\x01', null),
  'task_steps.task_id': nth('tasks'),
  'task_steps.step': rounds('tasks', 1, 2),
  'task_steps.attempts': (row) => (hash('attempts', row) % 3) + 1,
  'task_steps.ended_at': (row) => (row % 4 === 1 || (row >= 30 && row % 3 > 0) ? null : at(TIMES[hash('ended', row) % 8]!)),
  'tool_calls.task_id': nth('tasks'),
  'tool_calls.call_id': rounds('tasks', '1-1', '1-2', '2-1'),
  'tool_calls.step': rounds('tasks', 1, 1, 2),
  'tool_calls.position': rounds('tasks', 2, 1, 1),
  'tool_calls.status': (row) =>
    pickFrom(
      [
        'planned',
        'started',
        'done',
        'denied',
        'waiting_approval',
        'waiting_reconciliation',
        'waiting_answer',
        'waiting_client',
        'done',
      ],
      'call',
      row,
    ),
  'tool_calls.attempts': (row) => hash('tried', row) % 3,
  'tool_calls.answered_by': (row) => pickFrom([null, 'recorded', 'stub', null], 'by', row),
  'tool_calls.question': (row) => pickFrom([null, { id: 'q-1' }, { id: 'q-2' }], 'question', row),
  'tool_calls.decision': (row) => pickFrom([null, { decision: 'approve' }, null], 'decision', row),
  'tool_calls.name': (row) => pickFrom(['read', 'write'], 'tool', row),
  'task_messages.task_id': nth('tasks'),
  'task_messages.step': rounds('tasks', 0, 1, 1, 1, 2, 2),
  'task_messages.position': rounds('tasks', 0, 0, 1, 2, 0, 1),
  'task_messages.role': (row) => rounds('tasks', 'user', 'assistant', 'tool', 'tool', 'assistant', 'tool')(row),
  'task_messages.kind': (row, ...by) => pickFrom(['result', 'reply', 'partial', 'summary', 'result'], 'kind', row, ...by),
  'task_scores.task_id': some('tasks', 30),
  'task_scores.thumb': (row) => pickFrom(['up', 'down', null], 'thumb', row),
  'task_scores.value': (row) => pickFrom([null, 0.25, 1], 'score', row),
  'task_attachments.task_id': nth('tasks'),
  'task_attachments.attachment_id': nth('attachments', 3),
  'conversation_items.thread_id': nth('threads'),
  'conversation_items.position': rounds('threads', 1, 2, 3),
  'conversation_files.item_id': nth('conversation_items'),
  'conversation_files.attachment_id': (row) => idOf('attachments', row + 2),
  'event_sequences.workflow_id': nth('workflows', 5),
  'event_sequences.last_seq': cycle(12),
  'event_gaps.workflow_id': nth('workflows', 5),
  'event_gaps.epoch': (row) => [2, 4, 5][Math.floor(row / 5)]!,
  'event_gaps.after_seq': (row) => [3, 6, 10][Math.floor(row / 5)]! + (row % 5 === 1 ? 1 : 0),
  'event_gaps.through_seq': (row) => [8, 9, 20][Math.floor(row / 5)]! - (row % 5 === 3 ? 1 : 0),
  'events.workflow_id': nth('workflows', 5),
  'events.seq': (row) => Math.floor(row / 5) + 1,
  'events.task_id': (row) => idOf('tasks', (row % 5) + 5 * Math.floor(row / 15)),
  'events.type': (row) => pickFrom(['message_delta', 'message', 'status', 'log', 'message_delta', 'status'], 'event', row),
  'events.data': (row) =>
    pickFrom([{ delta: 'ab' }, { role: 'assistant', delta: 'c' }, { event: 'attempt_reset', delta: 'def' }], 'data', row),
  'events.timestamp': (row) => at(Math.floor(row / 5) * 60 - 600),
  // One workflow has more than the versions without runs that it keeps.
  'workflow_versions.workflow_id': (row) => idOf('workflows', row < 12 ? row % 4 : 4),
  'workflow_versions.number': (row) => (row < 12 ? Math.floor(row / 4) + 1 : row - 11),
  'workflow_versions.definition_hash': (row) => `definitions ${row < 12 ? (row % 4) + Math.floor(row / 4) : row - 8}`,
  'workspace_layers.task_id': nth('tasks', 6),
  'workspace_layers.first': (row) => row < 3,
  'secret_grants.token_name': cycle('stored_tokens one', 'stored_tokens two', 'stored_tokens three'),
  'secret_grants.resource_kind': (row) =>
    pickFrom(['provider', 'custom_tool', 'mcp_server', 'workflow', 'knowledge_source'], 'g', row),
  'secret_grants.resource_id': (row) =>
    idOf(pickFrom(['providers', 'custom_tools', 'mcp_servers', 'workflows', 'knowledge_sources'], 'g', row), hash('of', row) % 3),
  'secret_grants.superseded_at': (row) => (row % 3 === 0 ? at(TIMES[hash('over', row) % 8]!) : null),
  'token_uses.task_id': some('tasks', 34),
  'token_uses.granted': (row) => row % 3 > 0,
  'stored_tokens.shared': cycle(false, true, false),
  'memories.agent_id': nth('agents', 2),
  'memories.workflow_id': (row) =>
    pickFrom([idOf('workflows', 0), idOf('workflows', 1), idOf('workflows', 2), ...OWNERS.map(homeOf)], 'm', row),
  'memories.owner': (row) => pickFrom([...OWNERS, null], 'mo', row),
  'memories.key': (row) => `key ${Math.floor(row / 3)}`,
  'memories.ttl': (row) => pickFrom([null, at(0), at(60), at(-60)], 'ttl', row),
  'memories.scope': (row) => pickFrom(['global', 'agent', 'session'], 'ms', row),
  'knowledge_items.source_id': nth('knowledge_sources'),
  'knowledge_chunks.item_id': nth('knowledge_items'),
  'knowledge_chunks.position': rounds('knowledge_items', 0, 1),
  'knowledge_chunks.embedding': (row) =>
    [
      [1, 0],
      [0.5, 0.5],
      [0, 1],
      [-1, 0],
      [1, 0, 0],
    ][hash('v', row) % 5]!,
  'knowledge_chunks.embedder': (row) => (row % 4 === 1 ? 'other' : 'e1'),
  'dataset_items.dataset_id': nth('datasets', 2),
  'dataset_items.calls': cycle(
    [
      { name: 'read', arguments: '{}', content: 'x', failed: false },
      { name: 'write', arguments: '{}', content: 'y', failed: true },
      { name: 'read', arguments: '{"b":1}', content: 'z', failed: false },
    ],
    [],
  ),
  'evaluations.dataset_id': nth('datasets'),
  'evaluations.workflow_id': nth('workflows', 2),
  'evaluations.status': cycle('running', 'completed', 'completed', 'completed', 'halted', 'completed', 'running', 'completed'),
  'evaluations.baseline_id': cycle(null),
  'evaluations.items': cycle(3, 4),
  'evaluation_results.evaluation_id': nth('evaluations'),
  'evaluation_results.item_id': (row) => idOf('dataset_items', Math.floor(row / 8) * 2 + (row % 2)),
  'evaluation_results.status': (row) => pickFrom(['pending', 'running', 'passed', 'failed', 'error', 'passed'], 'result', row),
  'evaluation_results.grading': (row) =>
    pickFrom([{}, { judge: { task_id: idOf('tasks', row) } }, { judge: { note: 'x' } }], 'gr', row),
  'evaluation_results.task_id': some('tasks', 60, true),
  'alerts.measure': cycle('failure_rate', 'spend', 'waiting', 'provider_errors', 'backlog', 'budget'),
  'alerts.enabled': (row) => row % 9 !== 8,
  'alerts.window_minutes': cycle(10, 60, 1_440),
  'alerts.min_runs': cycle(1, 2),
  'alerts.budget_id': cycle(null),
  'alerts.workflow_id': (row) => (row % 3 === 0 ? idOf('workflows', row % 5) : null),
  'alerts.owner': (row) => OWNERS[(row + Math.floor(row / 5)) % 2]!,
  'alert_events.alert_id': nth('alerts', 4),
  'webhook_deliveries.task_id': (row) => (row < 14 ? idOf('tasks', row * 2) : null),
  'webhook_deliveries.alert_event_id': (row) => (row < 14 ? null : idOf('alert_events', row - 14)),
  'webhook_deliveries.status': (row) => pickFrom(['pending', 'delivered', 'failed'], 'delivery', row),
  'webhook_attempts.delivery_id': nth('webhook_deliveries', 5),
  'webhook_attempts.attempt': (row) => Math.floor(row / 5) + 1,
  'webhook_secrets.owner': cycle(...OWNERS),
  'chat_sessions.agent_id': nth('agents'),
  'chat_messages.session_id': nth('chat_sessions'),
  'chat_messages.question_id': cycle(null),
  'chat_messages.reply_until': (row) => pickFrom([null, at(0), at(60), at(-60)], 'reply', row),
  'chat_messages.created_at': (row) => at(-600 + 60 * Math.floor(row / 9)),
  'chat_parts.question_id': nth('chat_messages', 8),
  'chat_parts.first': (row) => 1 + 2 * Math.floor(row / 8),
  'service_keys.name': EVERY('key'),
  'service_keys.expires_at': (row) => pickFrom([null, at(0), at(60), at(-60), at(3_600)], 'expires', row),
  'service_keys.made_with': (row) => (row < 2 ? null : idOf('service_keys', row - 2)),
  'service_keys.hash': (row) => `\\x${String(row).padStart(2, '0')}`,
  'service_keys.previous_hash': cycle(null),
  'grant_keys.id': cycle('grants', 'others'),
  'grant_keys.existing_granted_at': cycle(at(0), null),
  'mcp_listings.server_id': nth('mcp_servers', 3),
  'mcp_listings.principal': rounds('datasets', ...OWNERS),
  'mcp_sign_ins.server_id': nth('mcp_servers', 4),
  'mcp_sign_ins.principal': rounds('providers', ...OWNERS),
  'mcp_sign_ins.leased_until': (row) => [null, at(-60), at(0), at(60), at(120), at(121), at(60), null][row]!,
  'mcp_sign_in_attempts.hash': (row) => `\\x0${row}`,
  'mcp_sign_in_attempts.server_id': nth('mcp_servers'),
  'provider_rates.provider_id': nth('providers'),
  'named_windows.provider_id': nth('providers'),
  'named_windows.model': EVERY('model'),
  'named_windows.endpoint': EVERY('endpoint'),
  'named_windows.named_at': cycle(at(200_000), at(-5_000_000), at(200_000)),
  'named_windows.is_refusal': cycle(true, true, false),
  'idempotency_keys.key': EVERY('key'),
  'idempotency_keys.reserved_id': some('tasks', 12),
  'browser_sessions.hash': (row) => `\\x0${row}`,
  'audit_queue.entry_id': nth('audit_entries'),
  'audit_queue.seq': (row) => row + 1,
  'workspace_layers.number': (row) => row + 1,
  'installation_facts.name': cycle('epoch', 'aging_clock', 'key_check:k1', 'key_check:k2', 'keyXcheck:k3', 'fires_removed_until'),
  'installation_facts.value': cycle(
    '{"installation": "i", "epoch": 5, "beat": 7, "restored_at": "2020-01-02T00:00:00Z"}',
    '2020-01-01T00:00:00.000Z',
    'AAAA',
    'AAAA',
    'AAAA',
    '2020-01-01T00:00:00.000Z',
  ),
  'installation_facts.updated_at': cycle(at(-60), at(-600)),
  'worker_beats.name': cycle('w0', 'w1'),
  'worker_beats.seen_at': cycle(...[-29, -30, -31, -3_599, -3_600, -3_601].map(at)),
  'usage_runs.hour': (row) => `2020-01-0${1 + (row % 4)}T0${Math.floor(row / 8)}:00:00Z`,
  'usage_runs.workflow_id': (row) => (row % 5 === 4 ? '00000000-0000-0000-0000-000000000000' : idOf('workflows', row % 5)),
  'usage_runs.agent_id': nth('agents'),
  'usage_runs.provider_id': (row) => (row % 3 ? idOf('providers', row % 3) : ''),
  'usage_runs.model': cycle('small', 'large', ''),
  'usage_calls.hour': (row) => `2020-01-0${1 + (row % 4)}T0${Math.floor(row / 8)}:00:00Z`,
  'usage_calls.kind': (row) => (row % 3 === 0 ? 'model' : 'tool'),
  'usage_calls.name': (row) => pickFrom(['read', 'write', 'list'], 'uc', row),
  'usage_calls.duration_class': (row) => 10 + (hash('dc', row) % 9),
};

const UNIQUE_NAMES = new Set([
  'providers',
  'custom_tools',
  'agents',
  'guardrails',
  'mcp_servers',
  'stored_tokens',
  'knowledge_sources',
  'skills',
  'datasets',
]);

interface Column {
  table: string;
  column: string;
  type: string;
  is_nullable: boolean;
  has_default: boolean;
}

function buildValue({ table, column, type, is_nullable }: Column, row: number): Value {
  const rule = RULES[`${table}.${column}`];
  if (rule) return rule(row, table, column);
  const by = [table, column, row];
  if (column === 'id' && type === 'uuid') return own(table)(row);
  if (column === 'name' && UNIQUE_NAMES.has(table)) return numbered(table)(row);
  if (is_nullable && hash('null', ...by) % 4 === 0) return null;
  const known = BY_COLUMN[column];
  if (known?.length && fits(known[0]!, type)) return pickFrom(known, ...by);
  switch (type) {
    case 'uuid': {
      const parent = `${column.replace(/_id$/, '')}s`;
      return idOf(ROWS[parent] ? parent : table, hash(...by) % (ROWS[parent] ?? 3));
    }
    case 'timestamptz':
      return at(pickFrom(TIMES, ...by));
    case 'bool':
      return hash(...by) % 2 === 0;
    case 'int2':
    case 'int4':
    case 'int8':
      return pickFrom([0, 1, 2, 3, 5, 7], ...by);
    case 'float8':
      return pickFrom([0, 0.5, 1.25, 3], ...by);
    case 'float4':
      return 0;
    case 'jsonb':
      return {};
    case '_text':
    case '_float4':
      return [];
    case 'bytea':
      return `\\x0${(hash(...by) % 3) + 1}`;
    default:
      return pickFrom(['a', 'b'], ...by);
  }
}

/** A name may mean something else in another table. */
const fits = (value: Value, type: string): boolean =>
  (Array.isArray(value) && type === '_text') ||
  (typeof value === 'number' && /^int/.test(type)) ||
  (typeof value === 'string' && ['text', 'varchar', 'uuid'].includes(type) && (type !== 'uuid' || /^[0-9a-f]{8}-/.test(value)));

/** The home of an owner's memories, as `memories.sql.ts` builds it. */
function homeOf(owner: string): string {
  const hex = createHash('md5').update(owner).digest('hex').split('');
  hex[12] = '8';
  hex[16] = '8';
  return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const quote = (text: string) => `'${text.replaceAll("'", "''")}'`;

function literal(value: Value, type: string): string {
  if (value === null) return 'NULL';
  if (typeof value === 'object' && 'sql' in value) return String(value.sql);
  if (type === 'jsonb') return `${quote(JSON.stringify(value))}::jsonb`;
  if (Array.isArray(value))
    return `ARRAY[${value.map((item) => (typeof item === 'number' ? item : quote(String(item)))).join(', ')}]::${type.slice(1)}[]`;
  return typeof value === 'string' ? quote(value) : String(value);
}

/** Writes the rows into the transaction of a migrated, empty database: the moment is its `now()`. */
export async function writeCrowd(client: pg.Client): Promise<void> {
  const { rows: columns } = await client.query<Column>(
    `SELECT table_name AS table, column_name AS column, udt_name AS type, is_nullable = 'YES' AS is_nullable
      FROM information_schema.columns WHERE table_schema = 'public' AND is_generated = 'NEVER' ORDER BY ordinal_position`,
  );
  const byTable = Map.groupBy(columns, ({ table }) => table);
  await client.query('DELETE FROM installation_facts');
  for (const [table, count] of Object.entries(ROWS)) {
    const of = byTable.get(table)!;
    const values = Array.from(
      { length: count },
      (_, row) => `(${of.map((column) => literal(buildValue(column, row), column.type)).join(', ')})`,
    );
    const into = `INSERT INTO ${table} (${of.map(({ column }) => `"${column}"`).join(', ')}) VALUES ${values.join(', ')}`;
    await client.query(`${into} ON CONFLICT DO NOTHING`).catch((error: Error) => {
      throw new Error(`${table}: ${error.message}`);
    });
  }
  // Events of a task that was removed stay.
  await client.query(`DELETE FROM tasks WHERE id = '${idOf('tasks', 17)}'`);
  // An item that was not indexed.
  await client.query(`DELETE FROM knowledge_chunks WHERE item_id = '${idOf('knowledge_items', 5)}'`);
  // One that has not begun: a fork copies into it.
  for (const table of ['task_steps', 'tool_calls', 'task_messages'])
    await client.query(`DELETE FROM ${table} WHERE task_id = '${NEW_FORK}'`);
}

/** A task without steps. */
export const NEW_FORK = idOf('tasks', 29);

/** Every table with rows. */
export const CROWDED = Object.keys(ROWS);
/** What gives names back to ids: `@tasks-3` for the fourth task. */
export const PREFIXES = new Map([...CROWDED, 'lease', 'new'].map((table) => [idOf(table, 0).slice(0, 8), table]));
