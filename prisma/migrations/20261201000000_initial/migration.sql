-- The schema of version 0.1.0.

CREATE TABLE "principals" (
    "id" TEXT NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "claimed_role" TEXT,
    "last_seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "principals_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "service_keys" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "role" TEXT NOT NULL,
    "scopes" TEXT[],
    "hash" BYTEA NOT NULL,
    "hint" TEXT NOT NULL,
    "previous_hash" BYTEA,
    "previous_until" TIMESTAMPTZ(3),
    "made_with" UUID,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "rotated_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "service_keys_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "browser_sessions" (
    "hash" BYTEA NOT NULL,
    "provider" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "claimed_role" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "browser_sessions_pkey" PRIMARY KEY ("hash")
);

CREATE TABLE "audit_entries" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "principal" TEXT NOT NULL,
    "login" TEXT NOT NULL,
    "service_key_id" UUID,
    "operation" TEXT NOT NULL,
    "scope" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "resource_type" TEXT NOT NULL,
    "resource_id" TEXT,
    "made_id" TEXT,
    "status" INTEGER NOT NULL,
    "request_id" TEXT NOT NULL,
    "address" TEXT NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "audit_queue" (
    "seq" BIGSERIAL NOT NULL,
    "entry_id" UUID NOT NULL,

    CONSTRAINT "audit_queue_pkey" PRIMARY KEY ("seq")
);

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
    "context_window" INTEGER,
    "model_total_seconds" INTEGER,
    "model_silence_seconds" INTEGER,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "providers_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "provider_rates" (
    "provider_id" UUID NOT NULL,
    "next_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "provider_rates_pkey" PRIMARY KEY ("provider_id")
);

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

CREATE TABLE "secret_grants" (
    "id" UUID NOT NULL,
    "token_name" TEXT NOT NULL,
    "granted_by" TEXT NOT NULL,
    "resource_kind" TEXT NOT NULL,
    "resource_id" UUID NOT NULL,
    "destination" TEXT NOT NULL,
    "destination_label" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "superseded_at" TIMESTAMPTZ(3),

    CONSTRAINT "secret_grants_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "grant_keys" (
    "id" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "existing_granted_at" TIMESTAMPTZ(3),

    CONSTRAINT "grant_keys_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "token_uses" (
    "id" UUID NOT NULL,
    "token_name" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "task_id" UUID,
    "granted" BOOLEAN NOT NULL,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "resource_kind" TEXT,
    "resource_id" UUID,
    "resource_name" TEXT,
    "destination_label" TEXT,

    CONSTRAINT "token_uses_pkey" PRIMARY KEY ("id")
);

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
    "approval_guards" JSONB NOT NULL DEFAULT '[]',
    "approve_effects" TEXT[] NOT NULL DEFAULT ARRAY[]::TEXT[],
    "required_mcp_servers" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "provider_id" UUID,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agents_pkey" PRIMARY KEY ("id")
);

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
    "is_enabled" BOOLEAN NOT NULL DEFAULT true,
    "allow_secret_questions" BOOLEAN NOT NULL DEFAULT false,
    "status" TEXT NOT NULL DEFAULT 'registered',
    "last_error" TEXT,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mcp_servers_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "mcp_listings" (
    "server_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "personal" BOOLEAN NOT NULL,
    "connection" TEXT NOT NULL,
    "tools" JSONB NOT NULL,
    "listed_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mcp_listings_pkey" PRIMARY KEY ("server_id","principal")
);

CREATE TABLE "mcp_sign_ins" (
    "server_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "signed_in_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "renews" BOOLEAN NOT NULL,
    "lease" UUID,
    "leased_until" TIMESTAMPTZ(3),

    CONSTRAINT "mcp_sign_ins_pkey" PRIMARY KEY ("server_id","principal")
);

CREATE TABLE "mcp_sign_in_attempts" (
    "hash" BYTEA NOT NULL,
    "server_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "session_hash" BYTEA NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "mcp_sign_in_attempts_pkey" PRIMARY KEY ("hash")
);

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

CREATE TABLE "knowledge_chunks" (
    "item_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "content" TEXT NOT NULL,
    "embedding" REAL[] DEFAULT ARRAY[]::REAL[],
    "embedder" TEXT,
    "search" tsvector GENERATED ALWAYS AS (to_tsvector('simple', "content")) STORED,

    CONSTRAINT "knowledge_chunks_pkey" PRIMARY KEY ("item_id","position")
);

CREATE TABLE "memories" (
    "id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "scope" TEXT NOT NULL,
    "workflow_id" TEXT NOT NULL DEFAULT '',
    "owner" TEXT,
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
    "output_schema" JSONB,
    "reasoning_effort" TEXT,
    "temperature" DOUBLE PRECISION,
    "top_p" DOUBLE PRECISION,
    "max_output_tokens" INTEGER,
    "stop" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "parallel_tool_calls" BOOLEAN,
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
    "model_total_seconds" INTEGER,
    "model_silence_seconds" INTEGER,
    "on_busy" TEXT NOT NULL DEFAULT 'enqueue',
    "on_inactive" TEXT NOT NULL DEFAULT 'halt',
    "newest_interrupt" INTEGER NOT NULL DEFAULT 0,
    "single_use" BOOLEAN NOT NULL DEFAULT false,
    "evaluation_id" UUID,
    "status" TEXT NOT NULL DEFAULT 'active',
    "current_turn" INTEGER NOT NULL DEFAULT 0,
    "active_task_id" UUID,
    "task_count" INTEGER NOT NULL DEFAULT 0,
    "accepted_tasks" INTEGER NOT NULL DEFAULT 0,
    "last_task_id" UUID,
    "last_task_status" TEXT,
    "last_task_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "version_count" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "workflows_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "definitions" (
    "hash" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "definitions_pkey" PRIMARY KEY ("hash")
);

CREATE TABLE "workflow_versions" (
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "definition_hash" TEXT NOT NULL,
    "config" JSONB,
    "origin" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_login" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workflow_versions_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "attachments" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "media_type" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "sha256" TEXT NOT NULL,
    "content" BYTEA NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "attachments_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "task_attachments" (
    "task_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "attachment_id" UUID NOT NULL,

    CONSTRAINT "task_attachments_pkey" PRIMARY KEY ("task_id","position")
);

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
    "prompt_parts" JSONB,
    "attachments" JSONB,
    "trigger" TEXT NOT NULL DEFAULT 'prompt',
    "scheduled_agent_id" UUID,
    "on_busy" TEXT NOT NULL DEFAULT 'enqueue',
    "lane_number" INTEGER,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "halt_requested" BOOLEAN NOT NULL DEFAULT false,
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
    "usage_estimated" BOOLEAN NOT NULL DEFAULT false,
    "todos" JSONB NOT NULL DEFAULT '[]',
    "budget" JSONB,
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "cursor" JSONB,
    "toolset" JSONB,
    "restored_at" TIMESTAMPTZ(3),
    "record_behind" TEXT,
    "behind_run_id" TEXT,
    "continuity" TEXT,
    "usage_counted" BOOLEAN NOT NULL DEFAULT false,
    "words" tsvector GENERATED ALWAYS AS (to_tsvector('simple', left("prompt", 50000) || ' ' || left(coalesce("response"::text, ''), 50000) || ' ' || left(coalesce("error", ''), 5000))) STORED,
    "final_cost" DOUBLE PRECISION GENERATED ALWAYS AS (CASE WHEN "completed_at" IS NOT NULL THEN "cost" END) STORED,
    "final_tokens" DOUBLE PRECISION GENERATED ALWAYS AS (CASE WHEN "completed_at" IS NOT NULL THEN "total_in"::float8 + "total_out" END) STORED,
    "final_seconds" DOUBLE PRECISION GENERATED ALWAYS AS (CASE WHEN "completed_at" IS NOT NULL THEN coalesce(extract(epoch FROM "completed_at" - "started_at"), -1)::float8 END) STORED,
    "forked_from" UUID,
    "fork_step" INTEGER,
    "fork_effects" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "completed_at" TIMESTAMPTZ(3),
    "conversation_id" UUID,

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "conversations" (
    "id" UUID NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "last_position" INTEGER NOT NULL DEFAULT 0,
    "last_task_id" UUID,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "conversations_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "conversation_items" (
    "id" UUID NOT NULL,
    "conversation_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "task_id" UUID,
    "item" JSONB,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "conversation_items_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "conversation_files" (
    "item_id" UUID NOT NULL,
    "attachment_id" UUID NOT NULL,

    CONSTRAINT "conversation_files_pkey" PRIMARY KEY ("item_id","attachment_id")
);

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
    "estimated" BOOLEAN NOT NULL DEFAULT false,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "task_steps_pkey" PRIMARY KEY ("task_id","step")
);

CREATE TABLE "workspace_layers" (
    "number" BIGSERIAL NOT NULL,
    "task_id" UUID NOT NULL,
    "first" BOOLEAN NOT NULL DEFAULT false,
    "chunks" TEXT[],
    "bytes" BIGINT NOT NULL,

    CONSTRAINT "workspace_layers_pkey" PRIMARY KEY ("number")
);

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
    "may_have_run" BOOLEAN NOT NULL DEFAULT false,
    "failed" BOOLEAN,
    "decision" JSONB,
    "decided_by" TEXT,
    "question" JSONB,
    "answers" JSONB,
    "stdout" TEXT,
    "stderr" TEXT,
    "duration_ms" INTEGER,
    "answered_by" TEXT,
    "started_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "tool_calls_pkey" PRIMARY KEY ("task_id","call_id")
);

CREATE TABLE "event_sequences" (
    "workflow_id" UUID NOT NULL,
    "last_seq" INTEGER NOT NULL,

    CONSTRAINT "event_sequences_pkey" PRIMARY KEY ("workflow_id")
);

CREATE TABLE "event_gaps" (
    "workflow_id" UUID NOT NULL,
    "epoch" INTEGER NOT NULL,
    "after_seq" INTEGER NOT NULL,
    "through_seq" INTEGER NOT NULL,

    CONSTRAINT "event_gaps_pkey" PRIMARY KEY ("workflow_id","epoch")
);

-- Events are partitioned, so that old ones are dropped and not deleted one by one: deltas by day, since they go once their task has ended,
-- other events by week. The ids of tasks are UUIDv7, so they say when a task was created. make_event_partitions makes the
-- partitions; `rest` takes what has none. No foreign key: it would lock the workflows whenever a partition is made or dropped.
CREATE TABLE "events" (
    "workflow_id" UUID NOT NULL,
    "seq" INTEGER NOT NULL,
    "task_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "timestamp" TIMESTAMPTZ(3) NOT NULL
) PARTITION BY LIST ("type");
CREATE TABLE "events_deltas" PARTITION OF "events" FOR VALUES IN ('message_delta') PARTITION BY RANGE ("task_id");
CREATE TABLE "events_deltas_rest" PARTITION OF "events_deltas" (PRIMARY KEY ("workflow_id", "seq")) DEFAULT;
CREATE TABLE "events_lasting" PARTITION OF "events" DEFAULT PARTITION BY RANGE ("task_id");
CREATE TABLE "events_lasting_rest" PARTITION OF "events_lasting" (PRIMARY KEY ("workflow_id", "seq")) DEFAULT;
CREATE INDEX ON "events_deltas_rest" ("task_id", "seq");
CREATE INDEX ON "events_lasting_rest" ("task_id", "seq");

CREATE TABLE "scheduled_agents" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "workflow_id" UUID NOT NULL,
    "prompt" TEXT NOT NULL,
    "interval_value" INTEGER NOT NULL,
    "interval_unit" TEXT NOT NULL,
    "cron" TEXT,
    "time_zone" TEXT NOT NULL DEFAULT 'UTC',
    "jitter_seconds" INTEGER NOT NULL DEFAULT 0,
    "start_at" TIMESTAMPTZ(3) NOT NULL,
    "end_at" TIMESTAMPTZ(3),
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "disabled_reason" TEXT,
    "pause_after_failures" INTEGER,
    "overlap_policy" TEXT NOT NULL DEFAULT 'skip',
    "catchup_window_seconds" INTEGER NOT NULL DEFAULT 600,
    "last_run_at" TIMESTAMPTZ(3),
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "service_key_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scheduled_agents_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "schedule_fires" (
    "scheduled_agent_id" UUID NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "task_id" UUID,
    "outcome" TEXT NOT NULL,
    "detail" TEXT,
    "fired_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "schedule_fires_pkey" PRIMARY KEY ("scheduled_agent_id","due_at")
);

CREATE TABLE "chat_sessions" (
    "id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "message_count" INTEGER NOT NULL DEFAULT 0,
    "stops" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "chat_sessions_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "chat_messages" (
    "id" UUID NOT NULL,
    "session_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "content" TEXT NOT NULL,
    "prompt_tokens" INTEGER,
    "completion_tokens" INTEGER,
    "question_id" UUID,
    "reply_until" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "chat_messages_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "alerts" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "measure" TEXT NOT NULL,
    "threshold" DOUBLE PRECISION NOT NULL,
    "window_minutes" INTEGER NOT NULL,
    "min_runs" INTEGER NOT NULL,
    "workflow_id" UUID,
    "webhook_url" TEXT,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "muted_until" TIMESTAMPTZ(3),
    "state" TEXT NOT NULL DEFAULT 'ok',
    "state_since" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_value" DOUBLE PRECISION,
    "measured_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "alerts_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "alert_events" (
    "id" UUID NOT NULL,
    "alert_id" UUID NOT NULL,
    "state" TEXT NOT NULL,
    "value" DOUBLE PRECISION NOT NULL,
    "threshold" DOUBLE PRECISION NOT NULL,
    "muted" BOOLEAN NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "alert_events_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "webhook_deliveries" (
    "id" UUID NOT NULL,
    "task_id" UUID,
    "alert_event_id" UUID,
    "url" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "delivered_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "webhook_deliveries_of_one" CHECK (num_nonnulls("task_id", "alert_event_id") = 1)
);

CREATE TABLE "webhook_attempts" (
    "delivery_id" UUID NOT NULL,
    "attempt" INTEGER NOT NULL,
    "response_status" INTEGER,
    "error" TEXT,
    "attempted_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_attempts_pkey" PRIMARY KEY ("delivery_id","attempt")
);

CREATE TABLE "person_settings" (
    "owner" TEXT NOT NULL,
    "views" JSONB NOT NULL DEFAULT '[]',
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "person_settings_pkey" PRIMARY KEY ("owner")
);

CREATE TABLE "webhook_secrets" (
    "owner" TEXT NOT NULL,
    "sealed" BYTEA NOT NULL,
    "key_id" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "rotated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "previous_sealed" BYTEA,
    "previous_key_id" TEXT,
    "previous_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "webhook_secrets_pkey" PRIMARY KEY ("owner")
);

CREATE TABLE "idempotency_keys" (
    "principal" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" TEXT NOT NULL,
    "reply" JSONB,
    "reserved_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("principal","key")
);

CREATE TABLE "installation_facts" (
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "installation_facts_pkey" PRIMARY KEY ("name")
);

CREATE TABLE "usage_runs" (
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "owner" TEXT NOT NULL,
    "workflow_id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "model" TEXT NOT NULL,
    "provider_id" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "runs" INTEGER NOT NULL,
    "completed" INTEGER NOT NULL,
    "failed" INTEGER NOT NULL,
    "halted" INTEGER NOT NULL,
    "total_in" BIGINT NOT NULL,
    "total_out" BIGINT NOT NULL,
    "cache_read" BIGINT NOT NULL,
    "cache_write" BIGINT NOT NULL,
    "premium_requests" BIGINT NOT NULL,
    "cost" DOUBLE PRECISION NOT NULL,
    "estimated" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "usage_runs_pkey" PRIMARY KEY ("hour","owner","workflow_id","agent_id","model","provider_id","trigger")
);

CREATE TABLE "usage_calls" (
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "owner" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "duration_class" SMALLINT NOT NULL,
    "calls" INTEGER NOT NULL,
    "failed" INTEGER NOT NULL,
    "total_in" BIGINT NOT NULL,
    "total_out" BIGINT NOT NULL,
    "cost" DOUBLE PRECISION NOT NULL,

    CONSTRAINT "usage_calls_pkey" PRIMARY KEY ("hour","owner","kind","name","duration_class")
);

CREATE TABLE "task_scores" (
    "id" UUID NOT NULL,
    "task_id" UUID NOT NULL,
    "thumb" TEXT,
    "value" DOUBLE PRECISION,
    "note" TEXT NOT NULL DEFAULT '',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "task_scores_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "datasets" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "datasets_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "dataset_items" (
    "id" UUID NOT NULL,
    "dataset_id" UUID NOT NULL,
    "prompt" TEXT NOT NULL,
    "expected" JSONB,
    "calls" JSONB NOT NULL DEFAULT '[]',
    "source_task_id" UUID,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "dataset_items_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "evaluations" (
    "id" UUID NOT NULL,
    "dataset_id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "workflow_title" TEXT,
    "definition_hash" TEXT NOT NULL,
    "model" TEXT,
    "graders" JSONB NOT NULL,
    "effects" TEXT NOT NULL,
    "parallel" INTEGER NOT NULL,
    "baseline_id" UUID,
    "status" TEXT NOT NULL DEFAULT 'running',
    "items" INTEGER NOT NULL,
    "passed" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "errors" INTEGER NOT NULL DEFAULT 0,
    "caller_token" BYTEA,
    "caller_key_id" TEXT,
    "service_key_id" UUID,
    "created_by" TEXT NOT NULL,
    "owner_login" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "completed_at" TIMESTAMPTZ(3),

    CONSTRAINT "evaluations_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "evaluation_results" (
    "evaluation_id" UUID NOT NULL,
    "item_id" UUID NOT NULL,
    "task_id" UUID,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "grades" JSONB NOT NULL DEFAULT '[]',
    "grading" JSONB NOT NULL DEFAULT '{}',
    "error" TEXT,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "evaluation_results_pkey" PRIMARY KEY ("evaluation_id","item_id")
);

CREATE UNIQUE INDEX "service_keys_hash_key" ON "service_keys"("hash");

CREATE UNIQUE INDEX "service_keys_previous_hash_key" ON "service_keys"("previous_hash");

CREATE INDEX "service_keys_owner_id_idx" ON "service_keys"("owner", "id" DESC);

CREATE INDEX "service_keys_made_with_idx" ON "service_keys"("made_with");

CREATE UNIQUE INDEX "service_keys_owner_name_key" ON "service_keys"("owner", "name");

CREATE INDEX "browser_sessions_expires_at_idx" ON "browser_sessions"("expires_at");

CREATE INDEX "audit_entries_at_idx" ON "audit_entries"("at");

CREATE INDEX "audit_entries_principal_id_idx" ON "audit_entries"("principal", "id" DESC);

CREATE INDEX "audit_entries_resource_id_idx" ON "audit_entries"("resource_id");

CREATE INDEX "audit_entries_made_id_idx" ON "audit_entries"("made_id");

CREATE UNIQUE INDEX "audit_queue_entry_id_key" ON "audit_queue"("entry_id");

CREATE UNIQUE INDEX "providers_name_key" ON "providers"("name");

CREATE UNIQUE INDEX "stored_tokens_name_key" ON "stored_tokens"("name");

CREATE INDEX "secret_grants_token_name_resource_kind_resource_id_idx" ON "secret_grants"("token_name", "resource_kind", "resource_id");

CREATE INDEX "secret_grants_resource_kind_resource_id_idx" ON "secret_grants"("resource_kind", "resource_id");

CREATE INDEX "token_uses_token_name_used_at_idx" ON "token_uses"("token_name", "used_at" DESC);

CREATE INDEX "token_uses_task_id_idx" ON "token_uses"("task_id");

CREATE UNIQUE INDEX "custom_tools_name_key" ON "custom_tools"("name");

CREATE INDEX "custom_tools_tags_idx" ON "custom_tools" USING GIN ("tags");

CREATE UNIQUE INDEX "agents_name_key" ON "agents"("name");

CREATE INDEX "agents_custom_tool_ids_idx" ON "agents" USING GIN ("custom_tool_ids");

CREATE INDEX "agents_provider_id_idx" ON "agents"("provider_id");

CREATE INDEX "skills_tags_idx" ON "skills" USING GIN ("tags");

CREATE UNIQUE INDEX "guardrails_name_key" ON "guardrails"("name");

CREATE INDEX "guardrails_tags_idx" ON "guardrails" USING GIN ("tags");

CREATE UNIQUE INDEX "mcp_servers_name_key" ON "mcp_servers"("name");

CREATE INDEX "mcp_servers_tags_idx" ON "mcp_servers" USING GIN ("tags");

CREATE INDEX "mcp_sign_ins_principal_idx" ON "mcp_sign_ins"("principal");

CREATE INDEX "mcp_sign_in_attempts_server_id_idx" ON "mcp_sign_in_attempts"("server_id");

CREATE INDEX "mcp_sign_in_attempts_expires_at_idx" ON "mcp_sign_in_attempts"("expires_at");

CREATE INDEX "knowledge_sources_tags_idx" ON "knowledge_sources" USING GIN ("tags");

CREATE INDEX "knowledge_items_source_id_idx" ON "knowledge_items"("source_id");

CREATE INDEX "knowledge_items_tags_idx" ON "knowledge_items" USING GIN ("tags");

CREATE INDEX "knowledge_items_created_by_idx" ON "knowledge_items"("created_by");

CREATE INDEX "knowledge_chunks_search_idx" ON "knowledge_chunks" USING GIN ("search");

CREATE INDEX "memories_agent_id_updated_at_idx" ON "memories"("agent_id", "updated_at" DESC);

CREATE INDEX "memories_created_by_idx" ON "memories"("created_by");

CREATE UNIQUE INDEX "memories_agent_id_scope_key_workflow_id_key" ON "memories"("agent_id", "scope", "key", "workflow_id");

CREATE INDEX "workflows_owner_id_idx" ON "workflows"("owner", "id" DESC);

CREATE INDEX "workflows_agent_id_idx" ON "workflows"("agent_id");

CREATE INDEX "workflow_versions_definition_hash_idx" ON "workflow_versions"("definition_hash");

CREATE UNIQUE INDEX "workflow_versions_workflow_id_number_key" ON "workflow_versions"("workflow_id", "number");

CREATE UNIQUE INDEX "workflow_versions_workflow_id_definition_hash_key" ON "workflow_versions"("workflow_id", "definition_hash");

CREATE INDEX "attachments_created_by_idx" ON "attachments"("created_by");

CREATE INDEX "task_attachments_attachment_id_idx" ON "task_attachments"("attachment_id");

CREATE INDEX "tasks_workflow_id_id_idx" ON "tasks"("workflow_id", "id" DESC);

CREATE INDEX "tasks_by_status" ON "tasks"("owner", "status", "id");

CREATE INDEX "tasks_status_idx" ON "tasks"("status");

CREATE INDEX "tasks_scheduled_agent_id_id_idx" ON "tasks"("scheduled_agent_id", "id" DESC);

CREATE INDEX "tasks_definition_hash_idx" ON "tasks"("definition_hash");

CREATE INDEX "tasks_words" ON "tasks" USING GIN ("words");

CREATE INDEX "conversations_created_by_idx" ON "conversations"("created_by");

CREATE INDEX "conversation_items_task_id_idx" ON "conversation_items"("task_id");

CREATE INDEX "conversation_items_created_by_idx" ON "conversation_items"("created_by");

CREATE UNIQUE INDEX "conversation_items_conversation_id_position_key" ON "conversation_items"("conversation_id", "position");

CREATE INDEX "conversation_files_attachment_id_idx" ON "conversation_files"("attachment_id");

CREATE INDEX "workspace_layers_task_id_number_idx" ON "workspace_layers"("task_id", "number");

CREATE INDEX "scheduled_agents_owner_id_idx" ON "scheduled_agents"("owner", "id" DESC);

CREATE INDEX "scheduled_agents_workflow_id_idx" ON "scheduled_agents"("workflow_id");

CREATE INDEX "schedule_fires_due_at_scheduled_agent_id_idx" ON "schedule_fires"("due_at", "scheduled_agent_id");

CREATE INDEX "chat_sessions_owner_agent_id_id_idx" ON "chat_sessions"("owner", "agent_id", "id" DESC);

CREATE INDEX "chat_messages_session_id_id_idx" ON "chat_messages"("session_id", "id");

CREATE INDEX "alerts_owner_id_idx" ON "alerts"("owner", "id" DESC);

CREATE INDEX "alerts_workflow_id_idx" ON "alerts"("workflow_id");

CREATE INDEX "alert_events_alert_id_id_idx" ON "alert_events"("alert_id", "id" DESC);

CREATE UNIQUE INDEX "webhook_deliveries_alert_event_id_key" ON "webhook_deliveries"("alert_event_id");

CREATE INDEX "webhook_deliveries_task_id_idx" ON "webhook_deliveries"("task_id");

CREATE INDEX "idempotency_keys_created_at_idx" ON "idempotency_keys"("created_at");

CREATE INDEX "usage_runs_owner_hour_idx" ON "usage_runs"("owner", "hour");

CREATE INDEX "usage_calls_owner_hour_idx" ON "usage_calls"("owner", "hour");

CREATE INDEX "task_scores_task_id_id_idx" ON "task_scores"("task_id", "id" DESC);

CREATE INDEX "task_scores_created_by_idx" ON "task_scores"("created_by");

CREATE INDEX "datasets_created_by_id_idx" ON "datasets"("created_by", "id" DESC);

CREATE INDEX "dataset_items_dataset_id_id_idx" ON "dataset_items"("dataset_id", "id" DESC);

CREATE INDEX "dataset_items_created_by_idx" ON "dataset_items"("created_by");

CREATE INDEX "evaluations_dataset_id_id_idx" ON "evaluations"("dataset_id", "id" DESC);

CREATE INDEX "evaluations_definition_hash_idx" ON "evaluations"("definition_hash");

CREATE INDEX "evaluations_status_idx" ON "evaluations"("status");

CREATE INDEX "evaluation_results_item_id_idx" ON "evaluation_results"("item_id");

CREATE INDEX "evaluation_results_task_id_idx" ON "evaluation_results"("task_id");

ALTER TABLE "service_keys" ADD CONSTRAINT "service_keys_made_with_fkey" FOREIGN KEY ("made_with") REFERENCES "service_keys"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "provider_rates" ADD CONSTRAINT "provider_rates_provider_id_fkey" FOREIGN KEY ("provider_id") REFERENCES "providers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "mcp_listings" ADD CONSTRAINT "mcp_listings_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "mcp_servers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "mcp_sign_ins" ADD CONSTRAINT "mcp_sign_ins_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "mcp_servers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "mcp_sign_in_attempts" ADD CONSTRAINT "mcp_sign_in_attempts_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "mcp_servers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "knowledge_items" ADD CONSTRAINT "knowledge_items_source_id_fkey" FOREIGN KEY ("source_id") REFERENCES "knowledge_sources"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "knowledge_chunks" ADD CONSTRAINT "knowledge_chunks_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "knowledge_items"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "workflows" ADD CONSTRAINT "workflows_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "workflow_versions" ADD CONSTRAINT "workflow_versions_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "workflow_versions" ADD CONSTRAINT "workflow_versions_definition_hash_fkey" FOREIGN KEY ("definition_hash") REFERENCES "definitions"("hash") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "task_attachments" ADD CONSTRAINT "task_attachments_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "task_attachments" ADD CONSTRAINT "task_attachments_attachment_id_fkey" FOREIGN KEY ("attachment_id") REFERENCES "attachments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "tasks" ADD CONSTRAINT "tasks_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "tasks" ADD CONSTRAINT "tasks_definition_hash_fkey" FOREIGN KEY ("definition_hash") REFERENCES "definitions"("hash") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "conversation_items" ADD CONSTRAINT "conversation_items_conversation_id_fkey" FOREIGN KEY ("conversation_id") REFERENCES "conversations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "conversation_items" ADD CONSTRAINT "conversation_items_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "conversation_files" ADD CONSTRAINT "conversation_files_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "conversation_items"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "conversation_files" ADD CONSTRAINT "conversation_files_attachment_id_fkey" FOREIGN KEY ("attachment_id") REFERENCES "attachments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

ALTER TABLE "task_steps" ADD CONSTRAINT "task_steps_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "workspace_layers" ADD CONSTRAINT "workspace_layers_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "task_messages" ADD CONSTRAINT "task_messages_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "tool_calls" ADD CONSTRAINT "tool_calls_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "event_sequences" ADD CONSTRAINT "event_sequences_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "event_gaps" ADD CONSTRAINT "event_gaps_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "scheduled_agents" ADD CONSTRAINT "scheduled_agents_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "schedule_fires" ADD CONSTRAINT "schedule_fires_scheduled_agent_id_fkey" FOREIGN KEY ("scheduled_agent_id") REFERENCES "scheduled_agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "chat_sessions" ADD CONSTRAINT "chat_sessions_agent_id_fkey" FOREIGN KEY ("agent_id") REFERENCES "agents"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "chat_messages" ADD CONSTRAINT "chat_messages_session_id_fkey" FOREIGN KEY ("session_id") REFERENCES "chat_sessions"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "alerts" ADD CONSTRAINT "alerts_workflow_id_fkey" FOREIGN KEY ("workflow_id") REFERENCES "workflows"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "alert_events" ADD CONSTRAINT "alert_events_alert_id_fkey" FOREIGN KEY ("alert_id") REFERENCES "alerts"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_alert_event_id_fkey" FOREIGN KEY ("alert_event_id") REFERENCES "alert_events"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "webhook_attempts" ADD CONSTRAINT "webhook_attempts_delivery_id_fkey" FOREIGN KEY ("delivery_id") REFERENCES "webhook_deliveries"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "task_scores" ADD CONSTRAINT "task_scores_task_id_fkey" FOREIGN KEY ("task_id") REFERENCES "tasks"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "dataset_items" ADD CONSTRAINT "dataset_items_dataset_id_fkey" FOREIGN KEY ("dataset_id") REFERENCES "datasets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "evaluations" ADD CONSTRAINT "evaluations_dataset_id_fkey" FOREIGN KEY ("dataset_id") REFERENCES "datasets"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "evaluation_results" ADD CONSTRAINT "evaluation_results_evaluation_id_fkey" FOREIGN KEY ("evaluation_id") REFERENCES "evaluations"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE "evaluation_results" ADD CONSTRAINT "evaluation_results_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "dataset_items"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- What Prisma has no words for.

-- Rows that are updated often keep room on their page.
ALTER TABLE "event_sequences" SET (fillfactor = 50);
ALTER TABLE "tasks" SET (fillfactor = 70);
ALTER TABLE "workflows" SET (fillfactor = 70);
-- Files are compressed already, or read in parts.
ALTER TABLE "attachments" ALTER COLUMN "content" SET STORAGE EXTERNAL;

CREATE INDEX memories_of_workflows ON memories (workflow_id) WHERE (workflow_id <> ''::text);
CREATE INDEX secret_grants_superseded ON secret_grants (superseded_at, id) WHERE (superseded_at IS NOT NULL);
CREATE INDEX tasks_by_cost ON tasks (owner, final_cost, id) WHERE (completed_at IS NOT NULL);
CREATE INDEX tasks_by_duration ON tasks (owner, final_seconds, id) WHERE (completed_at IS NOT NULL);
CREATE INDEX tasks_by_tokens ON tasks (owner, final_tokens, id) WHERE (completed_at IS NOT NULL);
CREATE INDEX tasks_ended ON tasks (completed_at, id) WHERE (completed_at IS NOT NULL);
CREATE INDEX tasks_errors ON tasks (owner, error_code, id) INCLUDE (completed_at, status, created_at, agent_id, model, trigger, workflow_id) WHERE (error_code IS NOT NULL);
CREATE INDEX tasks_filtered ON tasks (owner, id) INCLUDE (status, created_at, agent_id, model, trigger, error_code, workflow_id);
CREATE INDEX tasks_forks ON tasks (forked_from) WHERE (forked_from IS NOT NULL);
CREATE INDEX tasks_open ON tasks (owner, id) WHERE (completed_at IS NULL);
CREATE INDEX tasks_open_cursors ON tasks (id) WHERE ((cursor IS NOT NULL) AND (cursor <> 'null'::jsonb));
CREATE INDEX tasks_uncounted ON tasks (completed_at, id) WHERE ((completed_at IS NOT NULL) AND (NOT usage_counted));
CREATE INDEX webhook_deliveries_pending_idx ON webhook_deliveries (id) WHERE (status = 'pending'::text);
CREATE INDEX workflows_single_use ON workflows (id) WHERE single_use;
CREATE UNIQUE INDEX workspace_layers_first ON workspace_layers (task_id) WHERE first;

-- Functions and triggers: each is the text of prisma/functions.

-- The smallest id of a task that is created at that time or later: ids are UUIDv7.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION first_task_id(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT rpad(lpad(to_hex(greatest(0, floor(extract(epoch FROM p_at) * 1000))::bigint), 12, '0'), 32, '0')::uuid
$$;

-- Takes the workflow's next sequence numbers and writes the events under them, all in the caller's transaction: numbers become visible
-- in the order in which they were taken. Returns the last number, 0 when there are no events.
-- Locks: the row of event_sequences, and by its foreign key FOR KEY SHARE on the workflow when it gets its first event. Call it last.
CREATE OR REPLACE FUNCTION append_events(p_workflow uuid, p_task uuid, p_events jsonb) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  n integer := jsonb_array_length(p_events);
  last integer;
BEGIN
  IF n = 0 THEN RETURN 0; END IF;
  INSERT INTO event_sequences AS s (workflow_id, last_seq) VALUES (p_workflow, n)
    ON CONFLICT (workflow_id) DO UPDATE SET last_seq = s.last_seq + n
    RETURNING s.last_seq INTO last;
  INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
    SELECT p_workflow, last - n + ord, p_task, e ->> 'type', e -> 'data', (e ->> 'timestamp')::timestamptz
    FROM jsonb_array_elements(p_events) WITH ORDINALITY AS t (e, ord);
  RETURN last;
END $$;

-- Adds ended tasks to the usage tables; the caller makes sure that each is added once. Durations are counted in classes, each 10 %
-- longer than the one before: class n ends at 1.1^n ms. A run of an evaluation counts for the workflow that is evaluated, and one whose
-- workflow was made for it alone for none.
-- Locks: the rows of usage_runs and usage_calls, in the order of their keys.
CREATE OR REPLACE FUNCTION add_usage(p_tasks uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO usage_runs AS u (hour, owner, workflow_id, agent_id, model, provider_id, trigger,
      runs, completed, failed, halted, total_in, total_out, cache_read, cache_write, premium_requests, cost, estimated)
    SELECT date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner,
      coalesce(e.workflow_id, CASE WHEN w.single_use THEN '00000000-0000-0000-0000-000000000000' ELSE t.workflow_id END) AS workflow_id,
      t.agent_id, coalesce(t.model, '') AS model,
      coalesce(d.body -> 'provider' ->> 'id', '') AS provider_id, t.trigger, count(*), count(*) FILTER (WHERE t.status = 'completed'),
      count(*) FILTER (WHERE t.status = 'failed'), count(*) FILTER (WHERE t.status = 'halted'),
      sum(t.total_in), sum(t.total_out), sum(t.cache_read), sum(t.cache_write), sum(t.premium_requests), sum(t.cost),
      count(*) FILTER (WHERE t.usage_estimated)
    FROM tasks t LEFT JOIN definitions d ON d.hash = t.definition_hash LEFT JOIN workflows w ON w.id = t.workflow_id
      LEFT JOIN evaluations e ON e.id = w.evaluation_id
    WHERE t.id = ANY (p_tasks)
    GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (hour, owner, workflow_id, agent_id, model, provider_id, trigger) DO UPDATE SET
      runs = u.runs + excluded.runs, completed = u.completed + excluded.completed, failed = u.failed + excluded.failed,
      halted = u.halted + excluded.halted, total_in = u.total_in + excluded.total_in, total_out = u.total_out + excluded.total_out,
      cache_read = u.cache_read + excluded.cache_read, cache_write = u.cache_write + excluded.cache_write,
      premium_requests = u.premium_requests + excluded.premium_requests, cost = u.cost + excluded.cost,
      estimated = u.estimated + excluded.estimated;
  INSERT INTO usage_calls AS u (hour, owner, kind, name, duration_class, calls, failed, total_in, total_out, cost)
    SELECT hour, owner, kind, name, CASE WHEN ms <= 1 THEN 0 ELSE least(ceil(ln(ms) / ln(1.1)), 250) END::smallint AS duration_class,
      count(*), count(*) FILTER (WHERE not_ok), sum(tokens_in), sum(tokens_out), sum(cost)
    FROM (
      SELECT date_trunc('hour', t.completed_at, 'UTC') AS hour, t.owner, 'tool' AS kind, c.name,
        coalesce(c.duration_ms, extract(epoch FROM c.ended_at - c.started_at) * 1000, 0)::numeric AS ms, coalesce(c.failed, false) AS not_ok,
        0 AS tokens_in, 0 AS tokens_out, 0.0::float8 AS cost
      FROM tool_calls c JOIN tasks t ON t.id = c.task_id
      WHERE t.id = ANY (p_tasks) AND c.status = 'done' AND c.started_at IS NOT NULL AND c.answered_by IS NULL
        AND c.step >= coalesce(t.fork_step, 0)
      UNION ALL
      SELECT date_trunc('hour', t.completed_at, 'UTC'), t.owner, 'model', coalesce(s.model, t.model, ''),
        (extract(epoch FROM coalesce(s.ended_at, t.completed_at) - s.started_at) * 1000)::numeric, s.errors > 0,
        s.total_in, s.total_out, s.cost
      FROM task_steps s JOIN tasks t ON t.id = s.task_id WHERE t.id = ANY (p_tasks) AND s.step >= coalesce(t.fork_step, 0)) AS ended
    GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT (hour, owner, kind, name, duration_class) DO UPDATE SET
      calls = u.calls + excluded.calls, failed = u.failed + excluded.failed, total_in = u.total_in + excluded.total_in,
      total_out = u.total_out + excluded.total_out, cost = u.cost + excluded.cost;
$$;

-- Closes what a run that ended early left open, so that its transcript is whole: text that was streamed becomes a partial reply, and
-- each call without a result gets one: p_outcome_unknown when it may have run, p_not_called when it did not. Every open call of a
-- restored run may have run after the restore point. Returns the events of these messages.
-- Locks: tool_calls. The caller has locked the workflow and the task.
CREATE OR REPLACE FUNCTION close_open_work(p_task uuid, p_outcome_unknown text, p_not_called text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  at text := to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
  open_step integer;
  said text;
  restored boolean;
  messages jsonb := '[]';
  call record;
BEGIN
  SELECT max(step) INTO open_step FROM task_steps WHERE task_id = p_task AND ended_at IS NULL;
  IF open_step IS NOT NULL THEN
    SELECT string_agg(data ->> 'delta', '' ORDER BY seq) INTO said FROM events
      WHERE task_id = p_task AND type = 'message_delta' AND seq > coalesce((SELECT max(seq) FROM events WHERE task_id = p_task
        AND ((type = 'message' AND data ->> 'role' = 'assistant') OR (type = 'log' AND data ->> 'event' = 'attempt_reset'))), 0);
    IF said <> '' THEN
      INSERT INTO task_messages (task_id, step, position, role, kind, content)
        VALUES (p_task, open_step, 0, 'assistant', 'partial', said) ON CONFLICT DO NOTHING;
      messages := messages || jsonb_build_object('type', 'message', 'timestamp', at, 'data',
        jsonb_build_object('role', 'assistant', 'content', said, 'step', open_step, 'partial', true));
    END IF;
  END IF;
  SELECT restored_at IS NOT NULL OR record_behind IS NOT NULL INTO restored FROM tasks WHERE id = p_task;
  FOR call IN
    UPDATE tool_calls SET ended_at = now(), failed = true, decision = NULL, question = NULL, answers = NULL,
      status = CASE WHEN restored OR may_have_run OR status IN ('started', 'waiting_answer', 'waiting_reconciliation')
        THEN 'done' ELSE 'denied' END
      WHERE task_id = p_task AND status NOT IN ('done', 'denied')
      RETURNING call_id, name, step, position, status,
        CASE WHEN status = 'done' THEN p_outcome_unknown ELSE p_not_called END AS content
  LOOP
    INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id)
      VALUES (p_task, call.step, call.position, 'tool', CASE WHEN call.status = 'done' THEN 'result' ELSE 'denial' END,
        call.content, call.call_id) ON CONFLICT DO NOTHING;
    messages := messages || jsonb_build_object('type', 'message', 'timestamp', at, 'data',
      jsonb_build_object('role', 'tool', 'content', call.content, 'call_id', call.call_id, 'name', call.name));
  END LOOP;
  RETURN messages;
END $$;

-- Returns the task that is next in a workflow's lane, apart from p_but: the newest interrupting task first, then in
-- the order in which the workflow accepted them. An id or a time does not give that order: both are taken before the lane's lock.
-- An interrupting task that a newer one follows never has its turn. While the workflow is switched off, none has.
-- Locks: nothing. Hold the workflow FOR NO KEY UPDATE, so that nobody else gives the lane away.
CREATE OR REPLACE FUNCTION next_in_lane(p_workflow uuid, p_but uuid) RETURNS uuid LANGUAGE sql AS $$
  SELECT t.id FROM tasks t JOIN workflows w ON w.id = t.workflow_id
    WHERE t.workflow_id = p_workflow AND t.status = 'pending' AND t.id <> p_but AND w.status <> 'inactive'
      AND NOT (t.on_busy = 'interrupt' AND coalesce(t.lane_number, 0) < w.newest_interrupt)
    ORDER BY (t.on_busy = 'interrupt') DESC, t.lane_number NULLS FIRST, t.id LIMIT 1
$$;

-- Returns the delivery of a task that is still pending. VOLATILE, so that a statement which waited for another one to end the task
-- finds the delivery that the other one opened.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION pending_webhook(p_task uuid) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT id FROM webhook_deliveries WHERE task_id = p_task AND status = 'pending' LIMIT 1
$$;

-- Writes a text that a run publishes, once however often it is sent: a text of the task above p_after is this one, since an attempt
-- sends the next text after it knows the number of the one before. Returns its number; null if the attempt does not own its step.
-- Waits for the locks, which an earlier sending of the same text may have.
-- Locks: tasks and task_steps FOR SHARE, then the row of event_sequences, and what append_events locks.
CREATE OR REPLACE FUNCTION append_text(p_task uuid, p_workflow uuid, p_step integer, p_attempt integer, p_after integer, p_event jsonb)
RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  written integer;
BEGIN
  PERFORM 1 FROM tasks t JOIN task_steps s ON s.task_id = t.id
    WHERE t.id = p_task AND t.status IN ('pending', 'running', 'waiting') AND s.step = p_step AND s.attempts = p_attempt
      AND s.ended_at IS NULL
    FOR SHARE OF t, s;
  IF NOT FOUND THEN RETURN NULL; END IF;
  PERFORM 1 FROM event_sequences WHERE workflow_id = p_workflow FOR NO KEY UPDATE;
  -- A statement that begins under the lock sees what its last holder wrote.
  SELECT max(seq) INTO written FROM events WHERE task_id = p_task AND seq > p_after AND type = 'message_delta';
  IF written IS NOT NULL THEN RETURN written; END IF;
  RETURN append_events(p_workflow, p_task, jsonb_build_array(p_event));
END $$;

-- Writes the texts that many runs publish, each under its workflow's next sequence number. p_texts: [{ord, task_id, workflow_id,
-- step, attempt, after, event}], at most a few hundred. Returns the number of each text by its ord. A text is left out if its attempt
-- does not own its step, if its task or step is locked, if another text of its workflow comes first, or if its workflow has an event
-- above `after`, which may be the same text, sent before: pass it to append_text, which waits and decides.
-- Locks: tasks and task_steps FOR SHARE as far as they are free, then event_sequences by workflow. Call it alone in a transaction.
CREATE OR REPLACE FUNCTION append_texts(p_texts jsonb) RETURNS TABLE (ord integer, last integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(p_texts)
          AS g (ord integer, task_id uuid, workflow_id uuid, step integer, attempt integer, after integer, event jsonb)),
      mine AS MATERIALIZED (
        SELECT g.* FROM given g JOIN tasks t ON t.id = g.task_id JOIN task_steps s ON s.task_id = g.task_id AND s.step = g.step
          WHERE t.status IN ('pending', 'running', 'waiting') AND s.attempts = g.attempt AND s.ended_at IS NULL
          FOR SHARE OF t, s SKIP LOCKED),
      chosen AS MATERIALIZED (
        SELECT DISTINCT ON (workflow_id) * FROM mine WHERE after IS NOT NULL ORDER BY workflow_id, ord),
      sequences AS (
        INSERT INTO event_sequences AS s (workflow_id, last_seq) SELECT workflow_id, after + 1 FROM chosen ORDER BY workflow_id
          ON CONFLICT (workflow_id) DO UPDATE SET last_seq = excluded.last_seq WHERE s.last_seq = excluded.last_seq - 1
          RETURNING s.workflow_id, s.last_seq),
      placed AS MATERIALIZED (
        SELECT c.ord, c.task_id, c.workflow_id, c.event, q.last_seq AS seq
          FROM chosen c JOIN sequences q ON q.workflow_id = c.workflow_id),
      written AS (
        INSERT INTO events (workflow_id, seq, task_id, type, data, "timestamp")
          SELECT workflow_id, seq, task_id, event ->> 'type', event -> 'data', (event ->> 'timestamp')::timestamptz FROM placed
          RETURNING 1)
    SELECT p.ord, p.seq FROM placed p WHERE (SELECT count(*) FROM written) >= 0 ORDER BY p.ord;
END $$;

-- Deletes a pending task that the engine never got, as if it had not been asked for. Returns the task that holds the lane then;
-- NULL when the lane is free, or when the task is not pending any more.
-- Locks: the workflow FOR NO KEY UPDATE, then the task and its events.
CREATE OR REPLACE FUNCTION discard_task(p_task uuid) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  home uuid;
  holder uuid;
  before tasks%ROWTYPE;
BEGIN
  SELECT workflow_id INTO home FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = home FOR NO KEY UPDATE;
  DELETE FROM tasks WHERE id = p_task AND status = 'pending';
  IF NOT FOUND THEN RETURN NULL; END IF;
  DELETE FROM events WHERE task_id = p_task;
  SELECT * INTO before FROM tasks WHERE workflow_id = home ORDER BY id DESC LIMIT 1;
  -- If it was the newest that interrupts, the one before is again.
  UPDATE workflows SET newest_interrupt = coalesce(
      (SELECT max(lane_number) FROM tasks WHERE workflow_id = home AND on_busy = 'interrupt'), 0)
    WHERE id = home AND newest_interrupt > 0;
  IF holder = p_task THEN holder := next_in_lane(home, p_task); END IF;
  UPDATE workflows SET task_count = task_count - 1, last_task_id = before.id, last_task_status = before.status,
    last_task_at = before.created_at, active_task_id = holder,
    status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN coalesce(before.status, 'active') ELSE status END
    WHERE id = home;
  RETURN holder;
END $$;

-- Drops the oldest partition of a branch that is out of age: of events_lasting, when its tasks were created before p_before and have been
-- removed; of events_deltas, when they ended before it. Events of the few tasks that still need them move to the rest of the branch.
-- A partition with many of these stays until they are fewer. Returns the partition's name; null if none was dropped, also if the
-- tables were in use for a fifth of a second: writers never wait for longer. Runs as the owner of the tables, for roles that may delete tasks.
-- Locks: the branch, its rest and the partition ACCESS EXCLUSIVE, without waiting for them while others queue behind for long.
CREATE OR REPLACE FUNCTION drop_events(p_branch text, p_before timestamptz) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  part record;
  needed uuid[];
  moving integer;
BEGIN
  IF NOT has_table_privilege(session_user, 'tasks', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied';
  END IF;
  FOR part IN
    SELECT c.relname::text AS name, bounds[1]::uuid AS low, bounds[2]::uuid AS high
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
        regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''(.+)''\) TO \(''(.+)''\)$') AS bounds
      WHERE i.inhparent = p_branch::regclass AND bounds[2]::uuid <= first_task_id(p_before) ORDER BY bounds[2]
  LOOP
    needed := ARRAY(SELECT id FROM tasks WHERE id >= part.low AND id < part.high
      AND (p_branch <> 'events_deltas' OR completed_at IS NULL OR completed_at >= p_before) LIMIT 5001);
    EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %I WHERE task_id = ANY ($1) LIMIT 20001) AS held', part.name)
      INTO moving USING needed;
    CONTINUE WHEN cardinality(needed) > 5000 OR moving > 20000;
    EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_branch, part.name);
    EXECUTE format('INSERT INTO %I SELECT * FROM %I WHERE task_id = ANY ($1)', p_branch, part.name) USING needed;
    EXECUTE format('DROP TABLE %I', part.name);
    RETURN part.name;
  END LOOP;
  RETURN NULL;
EXCEPTION WHEN lock_not_available THEN RETURN NULL;
END $$;

-- Trigger: deletes the grants of a resource together with the resource. Its argument is the kind of resource.
-- Locks: the grants, after the resource that is deleted.
CREATE OR REPLACE FUNCTION drop_secret_grants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM secret_grants WHERE resource_kind = TG_ARGV[0] AND resource_id = OLD.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "providers" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('provider');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "custom_tools" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('custom_tool');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "mcp_servers" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('mcp_server');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "knowledge_sources" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('knowledge_source');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "workflows" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('workflow');

-- Ends a task, once, and gives the workflow's lane to the next pending one. Returns the task that holds the lane now if it is another
-- one, the workflow, the last event's number, and the task as it ended: of the last two nothing when it had ended before, so that the
-- caller opens the webhook's delivery once, in the same statement. p_outcome_unknown and p_not_called answer calls that are left open.
-- Locks: the workflow FOR NO KEY UPDATE, so that a task being created either is visible here or sees the lane free; then the task,
-- tool_calls, event_sequences.
CREATE OR REPLACE FUNCTION end_task(p_task uuid, p_status text, p_error text, p_error_code text, p_events jsonb,
  p_outcome_unknown text, p_not_called text,
  OUT next_task uuid, OUT told_workflow uuid, OUT told_last integer, OUT ended tasks)
  LANGUAGE plpgsql AS $$
DECLARE
  holder uuid;
BEGIN
  SELECT workflow_id INTO told_workflow FROM tasks WHERE id = p_task;
  SELECT active_task_id INTO holder FROM workflows WHERE id = told_workflow FOR NO KEY UPDATE;
  UPDATE tasks SET status = p_status, error = p_error, error_code = p_error_code, completed_at = now(), caller_token = NULL
    WHERE id = p_task AND status IN ('pending', 'running', 'waiting') RETURNING * INTO ended;
  IF FOUND THEN
    -- They may be large, and nobody needs them.
    ended.cursor := NULL;
    ended.toolset := NULL;
    UPDATE workflows SET last_task_status = p_status WHERE id = told_workflow AND last_task_id = p_task;
    IF p_status <> 'completed' THEN
      p_events := close_open_work(p_task, p_outcome_unknown, p_not_called) || p_events;
    END IF;
    told_last := append_events(told_workflow, p_task, p_events);
  END IF;
  IF holder = p_task THEN
    holder := next_in_lane(told_workflow, p_task);
    UPDATE workflows SET active_task_id = holder,
      status = CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL THEN p_status ELSE 'running' END
      WHERE id = told_workflow;
  END IF;
  IF holder <> p_task THEN next_task := holder; END IF;
END $$;

-- Trigger: the audit can only be added to. Retention, which sets perdura.audit_retention, may delete what is older than a day.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION keep_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF OLD.at < now() - interval '1 day' AND current_setting('perdura.audit_retention', true) = 'on' THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION USING ERRCODE = 'restrict_violation', MESSAGE = 'audit_is_append_only';
END $$;

CREATE OR REPLACE TRIGGER keep_audit BEFORE UPDATE OR DELETE ON "audit_entries" FOR EACH ROW EXECUTE FUNCTION keep_audit();
CREATE OR REPLACE TRIGGER keep_whole_audit BEFORE TRUNCATE ON "audit_entries" FOR EACH STATEMENT EXECUTE FUNCTION keep_audit();

-- Trigger: a halted run keeps what it had said as its response: the text that was being streamed, or else its last reply.
-- Locks: nothing but the task that is updated.
CREATE OR REPLACE FUNCTION keep_partial_response() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  said text;
BEGIN
  SELECT string_agg(data ->> 'delta', '' ORDER BY seq) INTO said FROM events
    WHERE task_id = NEW.id AND type = 'message_delta' AND seq > coalesce((SELECT max(seq) FROM events WHERE task_id = NEW.id
      AND ((type = 'message' AND data ->> 'role' = 'assistant') OR (type = 'log' AND data ->> 'event' = 'attempt_reset'))), 0);
  IF coalesce(said, '') = '' THEN
    SELECT content INTO said FROM task_messages
      WHERE task_id = NEW.id AND role = 'assistant' AND kind IN ('reply', 'partial') AND content <> ''
      ORDER BY step DESC, position DESC LIMIT 1;
  END IF;
  IF coalesce(said, '') <> '' THEN NEW.response := to_jsonb(said); END IF;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER halted_task_keeps_response BEFORE UPDATE OF status ON tasks FOR EACH ROW
  WHEN (NEW.status = 'halted' AND OLD.status <> 'halted' AND NEW.response IS NULL)
  EXECUTE FUNCTION keep_partial_response();

-- Makes the partitions for the events of tasks that are created between two times: one a day for deltas, one a week for other events.
-- Events that have no partition yet are in the rest; they move to theirs. Returns how many partitions were made. Gives up after a fifth
-- of a second if a table is in use; the next call tries again. Runs as the owner of the tables, for roles that
-- may delete tasks.
-- Locks: the branch and then its rest ACCESS EXCLUSIVE. A writer that waited for the rest only would be refused: it has chosen the rest
-- already, which no longer takes its row.
CREATE OR REPLACE FUNCTION make_event_partitions(p_from timestamptz, p_until timestamptz) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
DECLARE
  part record;
  made integer := 0;
BEGIN
  IF NOT has_table_privilege(session_user, 'tasks', 'DELETE') THEN
    RAISE insufficient_privilege USING MESSAGE = 'permission denied';
  END IF;
  FOR part IN
    SELECT branch, branch || '_rest' AS rest, name, first_task_id(at) AS low, first_task_id(at + length) AS high
      FROM (VALUES ('events_deltas', 'day', interval '24 hours'), ('events_lasting', 'week', interval '168 hours')) AS b (branch, unit, length),
        generate_series(date_trunc(unit, p_from, 'UTC'), p_until, length) AS at,
        concat(branch, '_', to_char(at AT TIME ZONE 'UTC', 'YYYYMMDD')) AS name
      WHERE to_regclass(name) IS NULL ORDER BY name
  LOOP
    EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', part.branch);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', part.name, part.rest);
    EXECUTE format('WITH moved AS (DELETE FROM %I WHERE task_id >= %L AND task_id < %L RETURNING *) INSERT INTO %I SELECT * FROM moved',
      part.rest, part.low, part.high, part.name);
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', part.branch, part.name, part.low, part.high);
    made := made + 1;
  END LOOP;
  RETURN made;
EXCEPTION WHEN lock_not_available THEN RETURN 0;
END $$;

-- Begins a new epoch of an installation that was restored, with all its consequences in one transaction. With p_epoch and p_beat, only
-- if the record is still behind that mark, so that of several processes that notice a restore one acts. Marks the tasks that have not
-- ended, and moves every workflow's numbers ahead of all that may have been given out before. Numbers after the last one that is known
-- to be from before the restore, up to the new start, are void for readers from before; event_gaps keeps which.
-- Returns nothing if there was nothing to do.
-- Locks: the fact 'epoch', then FOR KEY SHARE all workflows, then unended tasks, then all rows of event_sequences, each in order of ids.
CREATE OR REPLACE FUNCTION note_restore(p_epoch integer, p_beat integer)
RETURNS TABLE (epoch integer, restored_at timestamptz, tasks integer) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  fact record;
  fresh integer;
  marked integer;
  -- A workflow carries out one run at a time and joins its deltas: 100 events a second are more than it publishes.
  jump bigint;
BEGIN
  SELECT f.updated_at AS intact, (f.value::jsonb ->> 'epoch')::integer AS epoch, (f.value::jsonb ->> 'beat')::integer AS beat
    INTO STRICT fact FROM installation_facts f WHERE f.name = 'epoch' FOR UPDATE;
  IF p_epoch IS NOT NULL AND (fact.epoch, fact.beat) >= (p_epoch, p_beat) THEN RETURN; END IF;
  fresh := greatest(fact.epoch, p_epoch) + 1;
  jump := 1000000 + 100 * greatest(0, extract(epoch FROM now() - fact.intact)::bigint);
  PERFORM 1 FROM workflows w ORDER BY w.id FOR KEY SHARE;

  PERFORM 1 FROM tasks t WHERE t.completed_at IS NULL ORDER BY t.id FOR UPDATE;
  UPDATE tasks t SET restored_at = now() WHERE t.completed_at IS NULL;
  GET DIAGNOSTICS marked = ROW_COUNT;

  INSERT INTO event_sequences (workflow_id, last_seq) SELECT w.id, 0 FROM workflows w ORDER BY w.id ON CONFLICT DO NOTHING;
  PERFORM 1 FROM event_sequences s ORDER BY s.workflow_id FOR UPDATE;
  INSERT INTO event_gaps (workflow_id, epoch, after_seq, through_seq)
    SELECT s.workflow_id, fresh,
      CASE WHEN newest.timestamp > fact.intact THEN coalesce(
        (SELECT e.seq FROM events e WHERE e.workflow_id = s.workflow_id AND e.task_id BETWEEN home.first AND home.last
          AND e.timestamp <= fact.intact ORDER BY e.seq DESC LIMIT 1), 0)
      ELSE s.last_seq END,
      -- Never out of range, however often an installation is restored.
      s.last_seq + least(jump, (2147483647 - s.last_seq) / 2)
    FROM event_sequences s
      -- Its tasks say in which partitions its events are.
      LEFT JOIN LATERAL (SELECT (SELECT t.id FROM tasks t WHERE t.workflow_id = s.workflow_id ORDER BY t.id LIMIT 1) AS first,
        (SELECT t.id FROM tasks t WHERE t.workflow_id = s.workflow_id ORDER BY t.id DESC LIMIT 1) AS last) home ON true
      LEFT JOIN LATERAL (SELECT e.timestamp FROM events e WHERE e.workflow_id = s.workflow_id
        AND e.task_id BETWEEN home.first AND home.last ORDER BY e.seq DESC LIMIT 1) newest ON true;
  UPDATE event_sequences s SET last_seq = g.through_seq FROM event_gaps g WHERE g.workflow_id = s.workflow_id AND g.epoch = fresh;

  UPDATE installation_facts f SET updated_at = now(), value = (f.value::jsonb
    || jsonb_build_object('epoch', fresh, 'beat', greatest(fact.beat, p_beat) + 1, 'restored_at', now()))::text WHERE f.name = 'epoch';
  RETURN QUERY SELECT fresh, now(), marked;
END $$;

-- Gives each lane that nobody holds, or that an ended or deleted task holds, to the next pending task. Returns how many lanes it
-- looked at under lock.
-- Locks: each workflow FOR NO KEY UPDATE, in the order of their ids.
CREATE OR REPLACE FUNCTION settle_lanes() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  lane record;
  freed integer := 0;
BEGIN
  FOR lane IN
    SELECT w.id FROM workflows w LEFT JOIN tasks t ON t.id = w.active_task_id
      WHERE (w.active_task_id IS NOT NULL AND (t.id IS NULL OR t.status IN ('completed', 'failed', 'halted')))
        OR (w.active_task_id IS NULL AND w.status <> 'inactive' AND EXISTS (SELECT 1 FROM tasks p WHERE p.workflow_id = w.id AND p.status = 'pending'))
      ORDER BY w.id
  LOOP
    PERFORM 1 FROM workflows WHERE id = lane.id FOR NO KEY UPDATE;
    UPDATE workflows w SET active_task_id = next_in_lane(w.id, coalesce(w.active_task_id, w.id)),
        status = CASE WHEN w.status = 'inactive' THEN w.status
          WHEN next_in_lane(w.id, coalesce(w.active_task_id, w.id)) IS NULL THEN coalesce(w.last_task_status, 'active') ELSE 'running' END
      WHERE w.id = lane.id AND NOT EXISTS (
        SELECT 1 FROM tasks t WHERE t.id = w.active_task_id AND t.status IN ('pending', 'running', 'waiting'));
    freed := freed + 1;
  END LOOP;
  RETURN freed;
END $$;

-- A task that is deleted before it was added to the usage tables is added now: what was spent stays on record.
-- Locks: as add_usage.
CREATE OR REPLACE FUNCTION usage_of_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_usage(ARRAY[OLD.id]);
  RETURN OLD;
END $$;
CREATE OR REPLACE TRIGGER usage_of_deleted BEFORE DELETE ON tasks FOR EACH ROW
  WHEN (OLD.completed_at IS NOT NULL AND NOT OLD.usage_counted) EXECUTE FUNCTION usage_of_deleted();
