-- A chat session becomes a thread in a workflow of its own, and each message of a person a turn that has ended, with its reply. The session
-- gives its id to both, the message to its task; replies get the ids that src/domain/chat-turns.ts derives.

-- Each message with its reply: the one that names it, or in sessions of early versions the message of the model behind it.
CREATE TEMPORARY TABLE chat_turns AS
  WITH placed AS (
    SELECT *, row_number() OVER (PARTITION BY session_id ORDER BY created_at, id) AS place FROM chat_messages)
  SELECT q.id, q.session_id, q.content AS prompt, q.created_at, q.reply_error, r.content AS reply, r.created_at AS replied_at,
    coalesce(r.prompt_tokens, 0) AS total_in, coalesce(r.completion_tokens, 0) AS total_out,
    coalesce(r.estimated, false) AS estimated, coalesce(r.truncated, false) AS truncated,
    row_number() OVER turns AS turn, lag(q.id) OVER turns AS previous_id
  FROM placed q LEFT JOIN LATERAL (
    SELECT * FROM placed a WHERE a.session_id = q.session_id AND a.role = 'assistant'
      AND (a.question_id = q.id OR a.question_id IS NULL AND a.place = q.place + 1) ORDER BY a.place LIMIT 1) r ON true
  WHERE q.role = 'user' WINDOW turns AS (PARTITION BY q.session_id ORDER BY q.place);

CREATE TEMPORARY TABLE chat_homes AS
  SELECT s.*, coalesce(p.login, split_part(s.owner, ':', 2)) AS owner_login, a.name AS agent_name, a.name || ' (API)' AS home_title,
    coalesce(a.model, m.default_model) AS model, m.id AS provider_id, m.name AS provider_name,
    -- The agent and its provider as they are now. A chat had no tools.
    jsonb_build_object(
      'agent', jsonb_build_object('id', a.id, 'name', a.name, 'system_prompt', a.system_prompt),
      'workflow', jsonb_build_object('id', s.id, 'title', a.name || ' (API)'),
      'model', coalesce(a.model, m.default_model),
      'provider', CASE WHEN m.id IS NOT NULL THEN jsonb_build_object('id', m.id, 'name', m.name, 'provider_type', m.provider_type,
        'api_key_token_name', m.api_key_token_name, 'base_url', m.base_url, 'auth_type', m.auth_type,
        'azure_api_version', m.azure_api_version, 'azure_deployment', m.azure_deployment, 'default_model', m.default_model,
        'requests_per_minute', m.requests_per_minute, 'price_table', m.price_table, 'context_window', m.context_window) END,
      'settings', '{"max_turns": 50, "output_format": "markdown", "reasoning_effort": null, "infinite_session": true,
        "bypass_memory": false, "auto_memory": false, "tsv_tool_results": false, "caveman": false}'::jsonb,
      'skills', '[]'::jsonb, 'guardrails', '[]'::jsonb, 'knowledge_source_ids', '[]'::jsonb, 'tools', '[]'::jsonb,
      'webhooks', '{"completed": null, "error": null}'::jsonb, 'repository', NULL, 'budget', NULL) AS body
  FROM chat_sessions s JOIN agents a ON a.id = s.agent_id LEFT JOIN providers m ON m.id = a.provider_id
    LEFT JOIN principals p ON p.id = s.owner;

INSERT INTO definitions (hash, body)
  SELECT encode(sha256(convert_to(body::text, 'UTF8')), 'hex'), body FROM chat_homes
  ON CONFLICT DO NOTHING;

INSERT INTO workflows (id, owner, owner_login, agent_id, title, max_turns, output_format, remember, single_use, task_count, accepted_tasks,
    last_task_id, last_task_status, last_task_at, created_at, updated_at)
  SELECT h.id, h.owner, h.owner_login, h.agent_id, h.home_title, 50, 'markdown', 'thread', true, coalesce(last.turn, 0), coalesce(last.turn, 0),
    last.id, CASE WHEN last.reply IS NOT NULL THEN 'completed' WHEN last.id IS NOT NULL THEN 'failed' END, last.created_at,
    h.created_at, h.updated_at
  FROM chat_homes h LEFT JOIN LATERAL (SELECT * FROM chat_turns t WHERE t.session_id = h.id ORDER BY turn DESC LIMIT 1) last ON true
  ON CONFLICT DO NOTHING;

-- Counts as used now: RETENTION_DAYS begins to apply to it.
INSERT INTO threads (id, owner, owner_login, workflow_id, title, head_task_id, accepted_tasks, created_at, updated_at)
  SELECT h.id, h.owner, h.owner_login, h.id, h.title, w.last_task_id, w.task_count, h.created_at, now()
  FROM chat_homes h JOIN workflows w ON w.id = h.id
  ON CONFLICT DO NOTHING;

-- Usage has never counted chats, and does not count these.
INSERT INTO tasks (id, workflow_id, owner, owner_login, definition_hash, agent_id, agent_name, workflow_title, model, prompt, trigger,
    lane_number, status, response, error, error_code, steps, truncated, total_in, total_out, usage_estimated, usage_counted,
    created_at, started_at, completed_at, thread_id, previous_task_id, thread_turn)
  SELECT t.id, h.id, h.owner, h.owner_login, encode(sha256(convert_to(h.body::text, 'UTF8')), 'hex'), h.agent_id, h.agent_name, h.home_title,
    h.model, t.prompt, 'chat', t.turn, CASE WHEN t.reply IS NULL THEN 'failed' ELSE 'completed' END, to_jsonb(t.reply),
    CASE WHEN t.reply IS NULL THEN coalesce(t.reply_error, 'The server that wrote the reply was lost before the reply ended. Send the message again.') END,
    CASE WHEN t.reply IS NULL THEN 'error' END, CASE WHEN t.reply IS NULL THEN 0 ELSE 1 END, t.truncated, t.total_in, t.total_out, t.estimated,
    true, t.created_at, t.created_at, coalesce(t.replied_at, t.created_at), h.id, t.previous_id, t.turn
  FROM chat_turns t JOIN chat_homes h ON h.id = t.session_id
  ON CONFLICT DO NOTHING;

INSERT INTO task_messages (task_id, step, position, role, kind, content, created_at)
  SELECT t.id, 0, 0, 'user', 'prompt', t.prompt, t.created_at FROM chat_turns t JOIN chat_homes h ON h.id = t.session_id
  UNION ALL SELECT t.id, 1, 0, 'assistant', 'reply', t.reply, t.replied_at FROM chat_turns t JOIN chat_homes h ON h.id = t.session_id WHERE t.reply IS NOT NULL
  ON CONFLICT DO NOTHING;

INSERT INTO task_steps (task_id, step, attempts, model, provider_id, provider_name, finish, total_in, total_out, estimated, started_at, ended_at)
  SELECT t.id, 1, 1, h.model, h.provider_id, h.provider_name, CASE WHEN t.truncated THEN 'length' ELSE 'stop' END, t.total_in, t.total_out,
    t.estimated, t.created_at, t.replied_at
  FROM chat_turns t JOIN chat_homes h ON h.id = t.session_id WHERE t.reply IS NOT NULL
  ON CONFLICT DO NOTHING;

DROP TABLE chat_turns, chat_homes, chat_parts, chat_messages, chat_sessions;
