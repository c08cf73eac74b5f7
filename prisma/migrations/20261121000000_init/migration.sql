-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "principals" (
    "id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "principals_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "providers" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "provider_type" TEXT NOT NULL,
    "api_key_token_name" TEXT,
    "base_url" TEXT,
    "auth_type" TEXT NOT NULL DEFAULT 'bearer',
    "azure_api_version" TEXT,
    "azure_deployment" TEXT,
    "default_model" TEXT,
    "requests_per_minute" INTEGER,
    "price_table" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "providers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "stored_tokens" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "shared" BOOLEAN NOT NULL DEFAULT false,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "stored_tokens_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "token_uses" (
    "id" UUID NOT NULL,
    "token_name" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "task_id" UUID,
    "granted" BOOLEAN NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "token_uses_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "custom_tools" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "source_code" TEXT NOT NULL,
    "parameters_schema" JSONB NOT NULL,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "is_enabled" BOOLEAN NOT NULL DEFAULT true,
    "is_plugin" BOOLEAN NOT NULL DEFAULT false,
    "env_config" JSONB NOT NULL DEFAULT '{}',
    "effect" TEXT NOT NULL DEFAULT 'write',
    "network" BOOLEAN NOT NULL DEFAULT false,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "custom_tools_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agents" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "system_prompt" TEXT NOT NULL DEFAULT 'You are a helpful assistant.',
    "model" TEXT,
    "mcp_server_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "mcp_server_tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "custom_tool_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "builtin_tools" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "tool_definitions" JSONB NOT NULL DEFAULT '[]',
    "knowledge_source_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "knowledge_tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "approval_tools" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "required_mcp_servers" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "provider_id" UUID,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "skills" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "instructions" TEXT NOT NULL,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "skills_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "guardrails" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "guardrail_type" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "config" JSONB NOT NULL DEFAULT '{}',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "guardrails_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "mcp_servers" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "transport_type" TEXT NOT NULL,
    "connection_config" JSONB NOT NULL DEFAULT '{}',
    "allowed_tools" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "network" BOOLEAN NOT NULL DEFAULT false,
    "paths" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "status" TEXT NOT NULL DEFAULT 'registered',
    "last_error" TEXT,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mcp_servers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "knowledge_sources" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "source_type" TEXT NOT NULL DEFAULT 'builtin',
    "connection_config" JSONB NOT NULL DEFAULT '{}',
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "status" TEXT NOT NULL DEFAULT 'registered',
    "last_error" TEXT,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "knowledge_sources_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "knowledge_items" (
    "id" UUID NOT NULL,
    "source_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "content_type" TEXT NOT NULL DEFAULT 'text/plain',
    "content" TEXT NOT NULL,
    "tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "status" TEXT NOT NULL DEFAULT 'indexed',
    "last_error" TEXT,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "knowledge_items_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "knowledge_chunks" (
    "item_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "content" TEXT NOT NULL,
    "embedding" REAL[] DEFAULT ARRAY[]::REAL[],
    "embedder" TEXT,
    "search" tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, content)) STORED,

    CONSTRAINT "knowledge_chunks_pkey" PRIMARY KEY ("item_id","position")
);

-- CreateTable
CREATE TABLE "memories" (
    "id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "scope" TEXT NOT NULL,
    "workflow_id" TEXT NOT NULL DEFAULT '',
    "key" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "ttl" TIMESTAMPTZ(3),
    "task_id" UUID,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "memories_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workflows" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "agent_id" UUID NOT NULL,
    "title" TEXT,
    "model" TEXT,
    "max_turns" INTEGER NOT NULL DEFAULT 5,
    "skill_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "skill_tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "output_format" TEXT NOT NULL DEFAULT 'json',
    "reasoning_effort" TEXT,
    "infinite_session" BOOLEAN NOT NULL DEFAULT true,
    "bypass_memory" BOOLEAN NOT NULL DEFAULT false,
    "auto_memory" BOOLEAN NOT NULL DEFAULT false,
    "tsv_tool_results" BOOLEAN NOT NULL DEFAULT false,
    "caveman" BOOLEAN NOT NULL DEFAULT false,
    "guardrail_ids" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "guardrail_tags" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "repo_url" TEXT,
    "repo_branch" TEXT,
    "repo_token_name" TEXT,
    "webhook_url" TEXT,
    "error_webhook_url" TEXT,
    "credential_overrides" JSONB NOT NULL DEFAULT '{}',
    "budget" JSONB,
    "on_busy" TEXT NOT NULL DEFAULT 'enqueue',
    "status" TEXT NOT NULL DEFAULT 'active',
    "current_turn" INTEGER NOT NULL DEFAULT 0,
    "active_task_id" UUID,
    "task_count" INTEGER NOT NULL DEFAULT 0,
    "last_task_id" UUID,
    "last_task_status" TEXT,
    "last_task_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workflows_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "definitions" (
    "hash" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "definitions_pkey" PRIMARY KEY ("hash")
);

-- CreateTable
CREATE TABLE "tasks" (
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "definition_hash" TEXT NOT NULL,
    "agent_id" UUID NOT NULL,
    "agent_name" TEXT NOT NULL,
    "workflow_title" TEXT,
    "model" TEXT,
    "prompt" TEXT NOT NULL,
    "trigger" TEXT NOT NULL DEFAULT 'prompt',
    "scheduled_agent_id" UUID,
    "on_busy" TEXT NOT NULL DEFAULT 'enqueue',
    "status" TEXT NOT NULL DEFAULT 'pending',
    "response" JSONB,
    "error" TEXT,
    "error_code" TEXT,
    "turns" INTEGER NOT NULL DEFAULT 0,
    "steps" INTEGER NOT NULL DEFAULT 0,
    "turn_limit_reached" BOOLEAN NOT NULL DEFAULT false,
    "total_in" INTEGER NOT NULL DEFAULT 0,
    "total_out" INTEGER NOT NULL DEFAULT 0,
    "cache_read" INTEGER NOT NULL DEFAULT 0,
    "cache_write" INTEGER NOT NULL DEFAULT 0,
    "premium_requests" INTEGER NOT NULL DEFAULT 0,
    "cost" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "todos" JSONB NOT NULL DEFAULT '[]',
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "cursor" JSONB,
    "toolset" JSONB,
    "forked_from" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "task_steps" (
    "task_id" UUID NOT NULL,
    "step" INTEGER NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "errors" INTEGER NOT NULL DEFAULT 0,
    "model" TEXT,
    "finish" TEXT,
    "error" TEXT,
    "total_in" INTEGER NOT NULL DEFAULT 0,
    "total_out" INTEGER NOT NULL DEFAULT 0,
    "cache_read" INTEGER NOT NULL DEFAULT 0,
    "cache_write" INTEGER NOT NULL DEFAULT 0,
    "cost" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "task_steps_pkey" PRIMARY KEY ("task_id","step")
);

-- CreateTable
CREATE TABLE "task_messages" (
    "task_id" UUID NOT NULL,
    "step" INTEGER NOT NULL,
    "position" INTEGER NOT NULL,
    "role" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "tool_calls" JSONB,
    "call_id" TEXT,
    "extra" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "task_messages_pkey" PRIMARY KEY ("task_id","step","position")
);

-- CreateTable
CREATE TABLE "tool_calls" (
    "task_id" UUID NOT NULL,
    "call_id" TEXT NOT NULL,
    "step" INTEGER NOT NULL,
    "position" INTEGER NOT NULL,
    "name" TEXT NOT NULL,
    "arguments" TEXT NOT NULL,
    "effect" TEXT NOT NULL,
    "approval" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL DEFAULT 'planned',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "errors" INTEGER NOT NULL DEFAULT 0,
    "failed" BOOLEAN,
    "decision" JSONB,
    "decided_by" TEXT,
    "stdout" TEXT,
    "stderr" TEXT,
    "duration_ms" INTEGER,
    "started_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "tool_calls_pkey" PRIMARY KEY ("task_id","call_id")
);

-- CreateTable
CREATE TABLE "event_sequences" (
    "workflow_id" UUID NOT NULL,
    "last_seq" INTEGER NOT NULL,

    CONSTRAINT "event_sequences_pkey" PRIMARY KEY ("workflow_id")
);

-- CreateTable
CREATE TABLE "events" (
    "workflow_id" UUID NOT NULL,
    "seq" INTEGER NOT NULL,
    "task_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "events_pkey" PRIMARY KEY ("workflow_id","seq")
);

-- CreateTable
CREATE TABLE "scheduled_agents" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "workflow_id" UUID NOT NULL,
    "prompt" TEXT NOT NULL,
    "interval_value" INTEGER NOT NULL,
    "interval_unit" TEXT NOT NULL,
    "start_at" TIMESTAMPTZ(3) NOT NULL,
    "end_at" TIMESTAMPTZ(3),
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "overlap_policy" TEXT NOT NULL DEFAULT 'skip',
    "catchup_window_seconds" INTEGER NOT NULL DEFAULT 600,
    "last_run_at" TIMESTAMPTZ(3),
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scheduled_agents_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "schedule_fires" (
    "scheduled_agent_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "task_id" UUID,
    "outcome" TEXT NOT NULL,
    "detail" TEXT,
    "fired_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "schedule_fires_pkey" PRIMARY KEY ("scheduled_agent_id","due_at")
);

-- CreateTable
CREATE TABLE "chat_sessions" (
    "id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "message_count" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "chat_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "chat_messages" (
    "id" UUID NOT NULL,
    "session_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "prompt_tokens" INTEGER,
    "completion_tokens" INTEGER,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "chat_messages_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_deliveries" (
    "id" UUID NOT NULL,
    "task_id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "webhook_attempts" (
    "delivery_id" UUID NOT NULL,
    "attempt" INTEGER NOT NULL,
    "response_status" INTEGER,
    "error" TEXT,
    "attempted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id","attempt")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "principal" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "reply" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("principal","key")
);

-- CreateIndex
CREATE UNIQUE INDEX "providers_name_key" ON "providers"("name");

-- CreateIndex
CREATE UNIQUE INDEX "stored_tokens_name_key" ON "stored_tokens"("name");

-- CreateIndex
CREATE INDEX "token_uses_token_name_used_at_idx" ON "token_uses"("token_name", "used_at" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "custom_tools_name_key" ON "custom_tools"("name");

-- CreateIndex
CREATE INDEX "custom_tools_tags_idx" ON "custom_tools" USING GIN ("tags");

-- CreateIndex
CREATE UNIQUE INDEX "agents_name_key" ON "agents"("name");

-- CreateIndex
CREATE INDEX "agents_custom_tool_ids_idx" ON "agents" USING GIN ("custom_tool_ids");

-- CreateIndex
CREATE INDEX "agents_provider_id_idx" ON "agents"("provider_id");

-- CreateIndex
CREATE INDEX "skills_tags_idx" ON "skills" USING GIN ("tags");

-- CreateIndex
CREATE UNIQUE INDEX "guardrails_name_key" ON "guardrails"("name");

-- CreateIndex
CREATE INDEX "guardrails_tags_idx" ON "guardrails" USING GIN ("tags");

-- CreateIndex
CREATE UNIQUE INDEX "mcp_servers_name_key" ON "mcp_servers"("name");

-- CreateIndex
CREATE INDEX "mcp_servers_tags_idx" ON "mcp_servers" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "knowledge_sources_tags_idx" ON "knowledge_sources" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "knowledge_items_source_id_idx" ON "knowledge_items"("source_id");

-- CreateIndex
CREATE INDEX "knowledge_items_tags_idx" ON "knowledge_items" USING GIN ("tags");

-- CreateIndex
CREATE INDEX "knowledge_chunks_search_idx" ON "knowledge_chunks" USING GIN ("search");

-- CreateIndex
CREATE INDEX "memories_agent_id_updated_at_idx" ON "memories"("agent_id", "updated_at" DESC);

-- CreateIndex
CREATE UNIQUE INDEX "memories_agent_id_scope_key_workflow_id_key" ON "memories"("agent_id", "scope", "key", "workflow_id");

-- CreateIndex
CREATE INDEX "workflows_owner_id_idx" ON "workflows"("owner", "id" DESC);

-- CreateIndex
CREATE INDEX "workflows_agent_id_idx" ON "workflows"("agent_id");

-- CreateIndex
CREATE INDEX "tasks_workflow_id_id_idx" ON "tasks"("workflow_id", "id" DESC);

-- CreateIndex
CREATE INDEX "tasks_owner_id_idx" ON "tasks"("owner", "id" DESC);

-- CreateIndex
CREATE INDEX "tasks_status_idx" ON "tasks"("status");

-- CreateIndex
CREATE INDEX "tasks_scheduled_agent_id_id_idx" ON "tasks"("scheduled_agent_id", "id" DESC);

-- CreateIndex
CREATE INDEX "events_task_id_seq_idx" ON "events"("task_id", "seq");

-- CreateIndex
CREATE INDEX "scheduled_agents_owner_id_idx" ON "scheduled_agents"("owner", "id" DESC);

-- CreateIndex
CREATE INDEX "scheduled_agents_workflow_id_idx" ON "scheduled_agents"("workflow_id");

-- CreateIndex
CREATE INDEX "chat_sessions_owner_agent_id_id_idx" ON "chat_sessions"("owner", "agent_id", "id" DESC);

-- CreateIndex
CREATE INDEX "chat_messages_session_id_id_idx" ON "chat_messages"("session_id", "id");

-- CreateIndex
CREATE INDEX "webhook_deliveries_task_id_idx" ON "webhook_deliveries"("task_id");

-- CreateIndex
CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

-- AddForeignKey
ALTER TABLE "agents" ADD CONSTRAINT "agents_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "providers"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "knowledge_items" ADD CONSTRAINT "knowledge_items_source_id_fkey" FOREIGN KEY ("source_id") REFERENCES "knowledge_sources"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "knowledge_chunks" ADD CONSTRAINT "knowledge_chunks_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "knowledge_items"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workflows" ADD CONSTRAINT "workflows_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_definition_hash_fkey" FOREIGN KEY ("definition_hash") REFERENCES "definitions"("hash") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "task_steps" ADD CONSTRAINT "task_steps_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "task_messages" ADD CONSTRAINT "task_messages_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tool_calls" ADD CONSTRAINT "tool_calls_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "event_sequences" ADD CONSTRAINT "event_sequences_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "events" ADD CONSTRAINT "events_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "scheduled_agents" ADD CONSTRAINT "scheduled_agents_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "schedule_fires" ADD CONSTRAINT "schedule_fires_scheduled_agent_id_fkey" FOREIGN KEY ("scheduled_agent_id") REFERENCES "scheduled_agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "chat_sessions" ADD CONSTRAINT "chat_sessions_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "chat_messages" ADD CONSTRAINT "chat_messages_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "chat_sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- Rows that change many times in a run leave room on their page, so that an update touches no index.
ALTER TABLE "event_sequences" SET (fillfactor = 50);
ALTER TABLE "tasks" SET (fillfactor = 70);
ALTER TABLE "workflows" SET (fillfactor = 70);

-- Takes the workflow's next sequence numbers under its row lock, writes the events and tells who listens; all in the
-- caller's transaction, so numbers are told in the order in which they become visible. Events that fit travel in the
-- notification, larger ones are read by the listener. Returns the last number.
CREATE FUNCTION append_events(p_workflow uuid, p_task uuid, p_events jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer := jsonb_array_length(p_events);
  last integer;
  notice text;
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  INSERT INTO event_sequences AS s (workflow_id, last_seq) VALUES (p_workflow, n)
    ON CONFLICT (workflow_id) DO UPDATE SET last_seq = s.last_seq + n
    RETURNING s.last_seq INTO last;
  INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
    SELECT p_workflow, last - n + ord, p_task, e ->> 'type', e -> 'data', (e ->> 'timestamp')::timestamptz
    FROM jsonb_array_elements(p_events) WITH ORDINALITY AS t (e, ord);
  notice := jsonb_build_object('last', last, 'task_id', p_task, 'events', p_events)::text;
  IF octet_length(notice) > 7900 THEN notice := jsonb_build_object('last', last)::text; END IF;
  PERFORM pg_notify('workflow:events:' || p_workflow, notice);
  RETURN last;
END $$;

-- Ends a task, once, and gives the workflow's lane to the next pending one. Locking the workflow first makes a task that is
-- being created either visible here or see the lane free. Returns the task that now holds the lane, if it is another one.
CREATE FUNCTION settle_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer) LANGUAGE plpgsql AS $$
DECLARE
  holder uuid;
BEGIN
  SELECT workflow_id INTO told_workflow FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR UPDATE;
  UPDATE tasks SET status = p_status, error = p_error, error_code = p_error_code, completed_at = now(), caller_token = NULL
    WHERE id = p_task AND status IN ('pending', 'running', 'waiting');
  IF FOUND THEN
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    told_last := append_events(told_workflow, p_task, p_events);
  END IF;
  IF holder = p_task THEN
    SELECT id INTO holder FROM tasks WHERE workflow_id = told_workflow AND status = 'pending' AND id <> p_task
      ORDER BY (on_busy = 'interrupt') DESC, id LIMIT 1;
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
      WHERE id = told_workflow;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

-- Takes back a task that the engine never got, as if it had not been asked for.
CREATE FUNCTION discard_task(p_task uuid) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  home uuid;
  holder uuid;
  before tasks%ROWTYPE;
BEGIN
  SELECT workflow_id INTO home FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = home FOR UPDATE;
  DELETE FROM tasks WHERE id = p_task AND status = 'pending';
  IF NOT FOUND THEN RETURN; END IF;
  DELETE FROM events WHERE task_id = p_task;
  SELECT * INTO before FROM tasks WHERE workflow_id = home ORDER BY id DESC LIMIT 1;
  UPDATE workflows SET task_count = task_count - 1, last_task_id = before.id, last_task_status = before.status,
    last_task_at = before.created_at,
    active_task_id = CASE WHEN holder = p_task THEN NULL ELSE holder END,
    status = CASE WHEN holder = p_task AND status <> 'inactive' THEN coalesce(before.status, 'active') ELSE status END
    WHERE id = home;
END $$;
