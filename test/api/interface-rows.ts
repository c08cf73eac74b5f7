/** A row of the tables of the interface: what it asks for and what it answers, in the interface's own words. */
export interface Row {
  section: string;
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  request: string;
  response: string;
}

type Cells = [method: Row['method'], path: string, request: string, response: string];

const rowsOf = (section: string, cells: Cells[]): Row[] =>
  cells.map(([method, path, request, response]) => ({ section, method, path, request, response }));

/** Every operation of the interface, row by row. */
export const INTERFACE: Row[] = [
  ...rowsOf('Custom tools', [
    [
      'POST',
      '/api/custom-tools',
      'JSON: name, description, source_code, parameters_schema, tags, is_enabled',
      '201; tool object',
    ],
    ['GET', '/api/custom-tools', '', '200; array of tool objects'],
    ['GET', '/api/custom-tools/{id}', '', '200; tool object; 404 if unknown'],
    [
      'PUT',
      '/api/custom-tools/{id}',
      'any subset of the create fields',
      '200; updated tool; 422 if the new source fails validation',
    ],
    ['DELETE', '/api/custom-tools/{id}', '', '204'],
    [
      'POST',
      '/api/custom-tools/{id}/run',
      'JSON: `arguments` (object of parameter values)',
      '200; object with tool_name (string), result (string holding the JSON text of the returned value), success (boolean), error (string or null); 404 unknown tool; 409 tool disabled',
    ],
    ['GET', '/api/custom-tools/{id}/env-mapping', '', 'mapping of required environment variables to stored token names'],
    [
      'PUT',
      '/api/custom-tools/{id}/env-mapping',
      'JSON: `env_mapping` (object: environment variable name to stored token name)',
      '',
    ],
    [
      'POST',
      '/api/custom-tools/validate',
      'JSON: name, source_code',
      '200; object with valid (boolean), inferred_schema (object), error (string or null); nothing is persisted',
    ],
    [
      'POST',
      '/api/custom-tools/upload',
      'multipart form, field `file` (a .py file); tool name is the file-name stem',
      '201; tool object; 400 if the extension is not .py; 422 if source validation fails',
    ],
  ]),
  ...rowsOf('Agents', [
    ['POST', '/api/agents', 'agent fields', '201; agent object'],
    ['GET', '/api/agents', '', '200; array of agents'],
    ['GET', '/api/agents/{id}', '', '200; agent'],
    ['PUT', '/api/agents/{id}', 'same fields as create; only provided fields change', '200'],
    ['DELETE', '/api/agents/{id}', '', '204'],
    ['GET', '/api/agents/export', '', '200; agent export bundle'],
    ['GET', '/api/agents/{id}/export', '', '200; agent export bundle'],
    ['POST', '/api/agents/import', '`{items: ExportedAgent[]}`', '201; ImportResult'],
  ]),
  ...rowsOf('Skills', [
    ['POST', '/api/skills', 'skill fields', '201'],
    ['GET', '/api/skills', '', '200; array of skills'],
    ['GET', '/api/skills/{id}', '', '200; skill'],
    ['PUT', '/api/skills/{id}', '', '200'],
    ['DELETE', '/api/skills/{id}', '', '204'],
    ['GET', '/api/skills/export', '', '200; skill export bundle'],
    ['GET', '/api/skills/{id}/export', '', '200; skill export bundle'],
    ['POST', '/api/skills/import', '`{items: ExportedSkill[]}`', '201; ImportResult'],
  ]),
  ...rowsOf('Workflows', [
    ['POST', '/api/workflows', 'workflow fields', '201'],
    ['GET', '/api/workflows', '', "200; array of the caller's workflows"],
    ['GET', '/api/workflows/{id}', '', '200; full workflow state with messages, logs, usage'],
    ['PUT', '/api/workflows/{id}', '', '200'],
    ['DELETE', '/api/workflows/{id}', '', '204'],
    ['POST', '/api/workflows/{id}/prompt', 'prompt', '201 returned immediately; the run is asynchronous'],
    ['POST', '/api/workflows/{id}/halt', '', '200; stops a running workflow'],
    ['GET', '/api/workflows/{id}/stream', '', 'SSE stream of run events (see Events)'],
    ['POST', '/api/workflows/{id}/skills/{skill_id}', '', 'installs the skill on the workflow'],
    ['DELETE', '/api/workflows/{id}/skills/{skill_id}', '', 'removes the skill from the workflow'],
    ['GET', '/api/workflows/export', '', "200; export bundle of the caller's workflows"],
    ['GET', '/api/workflows/{id}/export', '', '200; export bundle'],
    ['POST', '/api/workflows/import', '`{items: ExportedWorkflow[]}`', '201; ImportResult'],
  ]),
  ...rowsOf('Tasks', [
    ['GET', '/api/tasks', '', '200; array of task executions of workflows the caller owns'],
    ['GET', '/api/tasks/{id}', '', '200; task execution'],
    ['GET', '/api/tasks/{id}/progress', '', '200; task progress object'],
    ['GET', '/api/tasks/workflow/{workflow_id}', '', '200; summaries of executions of that workflow'],
    ['POST', '/api/tasks/{id}/stop', '', '202; object with `status` (halt_requested) and `workflow_id`'],
  ]),
  ...rowsOf('Scheduled agents', [
    [
      'POST',
      '/api/scheduled-agents',
      'name, workflow_id, prompt, interval_value (integer, at least 1), interval_unit, start_at, end_at (nullable)',
      '201; scheduled agent object',
    ],
    ['GET', '/api/scheduled-agents', '', 'schedules of the current user'],
    ['GET', '/api/scheduled-agents/{sa_id}', '', 'one schedule'],
    [
      'PATCH',
      '/api/scheduled-agents/{sa_id}',
      'any of name, prompt, interval_value, interval_unit, start_at, end_at',
      'updated schedule',
    ],
    ['PATCH', '/api/scheduled-agents/{sa_id}/enable', '', 'enables a disabled schedule'],
    ['PATCH', '/api/scheduled-agents/{sa_id}/disable', '', 'disables without deleting'],
    ['DELETE', '/api/scheduled-agents/{sa_id}', '', 'deletes the schedule and its recurring entry'],
  ]),
  ...rowsOf('Chat', [
    [
      'POST',
      '/api/agents/{agent_id}/chat',
      'JSON: `message` (string), `session_id` (string, optional; omit to start a new session)',
      '200; SSE stream (below)',
    ],
    [
      'GET',
      '/api/agents/{agent_id}/chat/sessions',
      'query `skip` (integer, default 0), `limit` (integer, default 20)',
      '200; array of session objects, newest first',
    ],
    ['GET', '/api/agents/{agent_id}/chat/sessions/{session_id}', '', '200; session with all messages in chronological order'],
    ['DELETE', '/api/agents/{agent_id}/chat/sessions/{session_id}', '', '204; deletes the session and all its messages'],
  ]),
  ...rowsOf('Models', [
    [
      'GET',
      '/api/models',
      '',
      "200; array of model objects (id, name); the set depends on the caller's subscription tier and organisation settings",
    ],
  ]),
  ...rowsOf('Full bundle', [
    ['GET', '/api/export', '', '200; FullExportBundle'],
    ['POST', '/api/import', 'FullExportBundle', '201; BundleImportResult'],
    ['GET', '/api/knowledge-sources/export', '', '200; knowledge source export bundle'],
    ['GET', '/api/knowledge-sources/{id}/export', '', '200; knowledge source export bundle'],
    ['POST', '/api/knowledge-sources/import', '`{items: ExportedKnowledgeSource[]}`', '201; ImportResult'],
  ]),
];

/** Operations that the interface names and leaves open; as they were settled. */
export const SETTLED: Row[] = [
  ...rowsOf('Tasks', [
    ['POST', '/api/tasks/{id}/fork', 'from_step, prompt, effects, on_busy, changes', '201'],
    ['GET', '/api/tasks/{id}/bundle', '', '200'],
  ]),
  ...rowsOf('MCP servers', [
    ['POST', '/api/mcps', 'the fields', '201'],
    ['GET', '/api/mcps', '', '200; array'],
    ['GET', '/api/mcps/{id}', '', '200'],
    ['PUT', '/api/mcps/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/mcps/{id}', '', '204'],
    ['POST', '/api/mcps/{id}/test', '', '200; success, tools, error'],
    ['GET', '/api/mcps/{id}/tools', '', '200; tools'],
    ['POST', '/api/mcps/{id}/tools/refresh', '', '200; tools'],
    ['PUT', '/api/mcps/{id}/tools', 'allowed_tools', '200'],
    ['POST', '/api/mcps/import', 'mcpServers', '201; ImportResult'],
    ['POST', '/api/mcps/{id}/sign-in', '', '201; authorization_url, expires_at'],
    ['POST', '/api/mcps/sign-in', 'state, code, iss', '200; the sign-in'],
    ['DELETE', '/api/mcps/{id}/sign-in', '', '204'],
  ]),
  ...rowsOf('Guardrails', [
    ['POST', '/api/guardrails', 'the fields', '201'],
    ['GET', '/api/guardrails', '', '200; array'],
    ['GET', '/api/guardrails/{id}', '', '200'],
    ['PUT', '/api/guardrails/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/guardrails/{id}', '', '204'],
    ['POST', '/api/guardrails/{id}/check', 'text', '200'],
  ]),
  ...rowsOf('Knowledge sources', [
    ['POST', '/api/knowledge-sources', 'the fields', '201'],
    ['GET', '/api/knowledge-sources', '', '200; array'],
    ['GET', '/api/knowledge-sources/{id}', '', '200'],
    ['PUT', '/api/knowledge-sources/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/knowledge-sources/{id}', '', '204'],
    ['POST', '/api/knowledge-sources/{id}/test', '', '200'],
  ]),
  ...rowsOf('Knowledge items', [
    ['POST', '/api/knowledge-items', 'the fields', '201'],
    ['GET', '/api/knowledge-items', '', '200; array'],
    ['GET', '/api/knowledge-items/{id}', '', '200'],
    ['PUT', '/api/knowledge-items/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/knowledge-items/{id}', '', '204'],
    ['POST', '/api/knowledge-items/upload', 'multipart form, field `file`', '201'],
    ['GET', '/api/knowledge-items/{id}/content', '', '200'],
    ['POST', '/api/knowledge-items/query', 'query, tags, source_ids, limit', '200; items with scores'],
  ]),
  ...rowsOf('Memories', [
    ['POST', '/api/memories', 'the fields', '201'],
    ['GET', '/api/memories', '', '200; array'],
    ['GET', '/api/memories/{id}', '', '200'],
    ['PUT', '/api/memories/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/memories/{id}', '', '204'],
    ['POST', '/api/memories/search', 'agent_id, query', '200'],
    ['GET', '/api/memories/stm/{agent_id}', '', '200; the newest 20'],
  ]),
  ...rowsOf('Stored tokens', [
    ['POST', '/api/tokens', 'the fields', '201'],
    ['GET', '/api/tokens', '', '200; array'],
    ['GET', '/api/tokens/{id}', '', '200'],
    ['PUT', '/api/tokens/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/tokens/{id}', '', '204'],
    ['GET', '/api/tokens/{id}/uses', '', '200; array'],
    ['GET', '/api/tokens/{id}/grants', '', '200; array'],
    ['POST', '/api/tokens/{id}/grants', 'resource_type, resource_id, destination', '201'],
    ['DELETE', '/api/tokens/{id}/grants/{grant_id}', '', '204'],
  ]),
  ...rowsOf('Providers', [
    ['POST', '/api/providers', 'the fields', '201'],
    ['GET', '/api/providers', '', '200; array'],
    ['GET', '/api/providers/{id}', '', '200'],
    ['PUT', '/api/providers/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/providers/{id}', '', '204'],
    ['POST', '/api/providers/{id}/test', '', '200; success, models, error'],
    ['GET', '/api/providers/presets', '', '200; array'],
    ['POST', '/api/providers/test', 'a provider that is not stored', '200; success, models, error'],
  ]),
  ...rowsOf('Webhooks', [
    ['GET', '/api/webhook-secret', '', '200'],
    ['POST', '/api/webhook-secret/rotate', '', '201; the secret, this once'],
  ]),
  ...rowsOf('Alerts', [
    ['POST', '/api/alerts', 'the fields', '201'],
    ['GET', '/api/alerts', '', '200; array'],
    ['GET', '/api/alerts/{id}', '', '200'],
    ['GET', '/api/alerts/{id}/events', '', '200; array'],
    ['PUT', '/api/alerts/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/alerts/{id}', '', '204'],
  ]),
  ...rowsOf('Guardrails', [
    ['GET', '/api/guardrails/export', '', '200; export bundle'],
    ['GET', '/api/guardrails/{id}/export', '', '200; export bundle'],
    ['POST', '/api/guardrails/import', 'items', '201; ImportResult'],
  ]),
  ...rowsOf('Runs', [
    ['GET', '/api/tasks/{id}/steps', '', '200; array'],
    ['GET', '/api/tasks/{id}/webhooks', '', '200; array'],
    ['GET', '/api/tasks/{id}/scores', '', '200; array'],
    ['POST', '/api/tasks/{id}/scores', 'thumb, value, note', '201'],
    ['GET', '/api/workflows/{id}/scores', '', '200; array'],
  ]),
  ...rowsOf('Datasets', [
    ['POST', '/api/datasets', 'the fields', '201'],
    ['GET', '/api/datasets', '', '200; array'],
    ['GET', '/api/datasets/{id}', '', '200'],
    ['PUT', '/api/datasets/{id}', 'any of the fields', '200'],
    ['DELETE', '/api/datasets/{id}', '', '204'],
    ['GET', '/api/datasets/{id}/items', '', '200; array'],
    ['POST', '/api/datasets/{id}/items', 'prompt, expected, task_id', '201'],
    ['GET', '/api/datasets/{id}/runs', '', '200; array'],
  ]),
  ...rowsOf('Chats', [['POST', '/api/agents/{agent_id}/chat/sessions/{session_id}/stop', '', '200; stop_requested']]),
  ...rowsOf('Identity', [
    ['GET', '/api/me', '', '200; id, provider, subject, login, is_admin'],
    ['GET', '/api/me/settings', '', '200; views'],
    ['PUT', '/api/me/settings', 'views', '200; views'],
  ]),
  ...rowsOf('Service keys', [
    ['POST', '/api/keys', 'name, role, scopes, expires_at', '201; the key, this once'],
    ['GET', '/api/keys', '', '200; array'],
    ['GET', '/api/keys/{id}', '', '200'],
    ['POST', '/api/keys/{id}/rotate', 'grace_seconds', '201; the new key, this once'],
    ['DELETE', '/api/keys/{id}', '', '204'],
  ]),
  ...rowsOf('Audit', [['GET', '/api/audit', '', '200; array']]),
  ...rowsOf('Built-in tools', [['GET', '/api/builtin-tools', '', '200']]),
  ...rowsOf('Scheduled agents', [
    ['POST', '/api/scheduled-agents/{sa_id}/trigger', '', 'runs it now'],
    ['GET', '/api/scheduled-agents/{sa_id}/runs', '', 'its tasks, missed and skipped fires included'],
    ['POST', '/api/scheduled-agents/{sa_id}/backfill', 'from, to, overlap_policy', '201; fires'],
    ['GET', '/api/scheduled-agents/{sa_id}/upcoming', '', '200; due_times'],
    ['GET', '/api/scheduled-agents/export', '', '200; scheduled agent export bundle'],
    ['GET', '/api/scheduled-agents/{sa_id}/export', '', '200; scheduled agent export bundle'],
    ['POST', '/api/scheduled-agents/import', 'items', '201; ImportResult'],
    ['POST', '/api/scheduled-agents/preview', 'cron, time_zone, interval_value, interval_unit', '200; due_times'],
  ]),
];
