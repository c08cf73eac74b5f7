import { randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { RunEvent } from '../../../src/contracts/events.ts';
import type { Database } from '../../../src/store/database/database.ts';

const DAY_MS = 24 * 3_600_000;
export const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
const idAt = (at: Date) => uuid({ msecs: at.getTime() });

type Sql = (text: string, ...values: unknown[]) => Promise<unknown>;

const USAGE = { total_in: 0, total_out: 0, cost: 0, cache_read: 0, cache_write: 0, premium_requests: 0 };
const DATA: Record<RunEvent['type'], RunEvent['data']> = {
  log: { event: 'completed', detail: '' },
  message: { role: 'assistant', content: '' },
  message_delta: { delta: '' },
  usage: USAGE,
  status: { status: 'completed', current_turn: 0, task_id: '' },
};

/** Writes records that look as if they had been made some time ago. */
export function agedRecords({ pool }: Pick<Database, 'pool'>) {
  const sql: Sql = (text, ...values) => pool.query(text, values);

  async function workflow(at: Date, single_use = false): Promise<{ agent_id: string; workflow_id: string }> {
    const [agent_id, workflow_id] = [idAt(at), idAt(at)];
    await sql(`INSERT INTO agents (id, name, created_by, created_at) VALUES ($1, $2, 'local:alice', $3)`, agent_id, agent_id, at);
    await sql(
      `INSERT INTO workflows (id, agent_id, owner, owner_login, created_at, status, task_count, single_use)
        VALUES ($1, $2, 'local:alice', 'alice', $3, 'completed', 1, $4)`,
      ...[workflow_id, agent_id, at, single_use],
    );
    return { agent_id, workflow_id };
  }

  /** Writes a thread that was last used at that time. */
  async function thread(at: Date, workflow_id: string): Promise<string> {
    const id = idAt(at);
    await sql(
      `INSERT INTO threads (id, owner, owner_login, workflow_id, created_at, updated_at) VALUES ($1, 'local:alice', 'alice', $2, $3, $3)`,
      ...[id, workflow_id, at],
    );
    return id;
  }

  async function definition(at: Date): Promise<string> {
    const hash = randomBytes(32).toString('hex');
    await sql(`INSERT INTO definitions (hash, body, created_at) VALUES ($1, '{}', $2)`, hash, at);
    return hash;
  }

  /** Writes a task that ended at that time, unless its status is a live one. */
  async function task(at: Date, given: Partial<TaskGiven> = {}): Promise<string> {
    const { agent_id = uuid(), workflow_id = (await workflow(at)).workflow_id, status = 'completed', forked_from = null } = given;
    const { definition_hash = await definition(at), task_id = idAt(at) } = given;
    const ended = ['completed', 'failed', 'halted'].includes(status);
    await sql(
      `INSERT INTO tasks (id, workflow_id, owner, owner_login, prompt, definition_hash, agent_id, agent_name, status, created_at, completed_at, forked_from)
        VALUES ($1, $2, 'local:alice', 'alice', 'p', $3, $4, 'a', $5, $6, $7, $8)`,
      ...[task_id, workflow_id, definition_hash, agent_id, status, at, ended ? at : null, forked_from],
    );
    return task_id;
  }

  /** Writes events of a task, all of one type. */
  async function events(at: Date, task_id: string, count = 1, type: RunEvent['type'] = 'log'): Promise<void> {
    await sql(
      `WITH place AS (
          INSERT INTO event_sequences AS s SELECT workflow_id, $3 FROM tasks WHERE id = $1
          ON CONFLICT (workflow_id) DO UPDATE SET last_seq = s.last_seq + $3 RETURNING workflow_id, last_seq)
        INSERT INTO events (workflow_id, seq, task_id, type, data, timestamp)
          SELECT workflow_id, last_seq - n + 1, $1, $4, $5, $2 FROM place, generate_series($3::int, 1, -1) AS n`,
      ...[task_id, at, count, type, DATA[type]],
    );
  }

  /** Writes a row in each table that belongs to a task. */
  async function attachment(at: Date, name: string): Promise<string> {
    const id = idAt(at);
    await sql(
      `INSERT INTO attachments (id, name, media_type, size, sha256, content, created_by) VALUES ($1, $2, 'text/plain', 1, 'h', 'x', 'local:alice')`,
      ...[id, name],
    );
    return id;
  }

  /** Writes a conversation to which a client added an item with a file. */
  async function conversation(at: Date): Promise<void> {
    const [id, item_id] = [idAt(at), idAt(at)];
    await sql(`INSERT INTO threads (id, owner, owner_login, updated_at) VALUES ($1, 'local:alice', 'alice', $2)`, id, at);
    await sql(
      `INSERT INTO conversation_items (id, thread_id, position, item, created_by) VALUES ($1, $2, 1, '{"type": "message"}', 'local:alice')`,
      ...[item_id, id],
    );
    await sql(`INSERT INTO conversation_files (item_id, attachment_id) VALUES ($1, $2)`, item_id, await attachment(at, 'used'));
  }

  async function partsOf(at: Date, task_id: string): Promise<void> {
    await events(at, task_id, 3);
    await sql(`INSERT INTO task_steps (task_id, step, started_at) VALUES ($1, 1, $2)`, task_id, at);
    await sql(
      `INSERT INTO task_messages (task_id, step, position, role, kind, content) VALUES ($1, 1, 0, 'a', 'reply', 'x')`,
      task_id,
    );
    await sql(
      `INSERT INTO workflow_versions (id, workflow_id, number, definition_hash, origin, created_by, created_login, created_at)
        SELECT id, workflow_id, floor(random() * 1e9), definition_hash, 'run', owner, owner_login, $2 FROM tasks WHERE id = $1
        ON CONFLICT (workflow_id, definition_hash) DO NOTHING`,
      ...[task_id, at],
    );
    await sql(`INSERT INTO task_scores (id, task_id, thumb, created_by) VALUES ($1, $2, 'up', 'local:alice')`, idAt(at), task_id);
    const file_id = await attachment(at, 'used');
    await sql(`INSERT INTO task_attachments (task_id, position, attachment_id) VALUES ($1, 1, $2)`, task_id, file_id);
    await sql(`INSERT INTO workspace_layers (task_id, chunks, bytes) VALUES ($1, '{}', 0)`, task_id);
    await sql(
      `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect) VALUES ($1, '1-1', 1, 1, 'n', '{}', 'read')`,
      task_id,
    );
    const delivery_id = idAt(at);
    await sql(
      `INSERT INTO webhook_deliveries (id, task_id, url, payload, status, created_at) VALUES ($1, $2, 'u', '{}', 'delivered', $3)`,
      ...[delivery_id, task_id, at],
    );
    await sql(`INSERT INTO webhook_attempts (delivery_id, attempt) VALUES ($1, 1)`, delivery_id);
  }

  const tokenUse = (at: Date, task_id: string | null = null) =>
    sql(
      `INSERT INTO token_uses (id, token_name, principal, purpose, task_id, granted, used_at) VALUES ($1, 't', 'p', 'x', $2, true, $3)`,
      ...[idAt(at), task_id, at],
    );

  const grant = (at: Date, superseded_at: Date | null) =>
    sql(
      `INSERT INTO secret_grants (id, token_name, granted_by, resource_kind, resource_id, destination, destination_label, created_at, superseded_at)
        VALUES ($1, 't', 'local:alice', 'provider', $1, 'd', 'l', $2, $3)`,
      ...[idAt(at), at, superseded_at],
    );

  async function schedule(at: Date, catchup_window_seconds = 600): Promise<string> {
    const [id, { workflow_id }] = [idAt(at), await workflow(at)];
    await sql(
      `INSERT INTO scheduled_agents (id, owner, owner_login, name, workflow_id, prompt, interval_value, interval_unit, start_at, created_at,
          updated_at, catchup_window_seconds) VALUES ($1, 'local:alice', 'alice', 's', $2, 'p', 1, 'days', $3, $3, $3, $4)`,
      ...[id, workflow_id, at, catchup_window_seconds],
    );
    return id;
  }

  const fire = (schedule_id: string, due_at: Date, fired_at = due_at) =>
    sql(
      `INSERT INTO schedule_fires (scheduled_agent_id, due_at, outcome, fired_at) VALUES ($1, $2, 'started', $3)`,
      ...[schedule_id, due_at, fired_at],
    );

  const memory = (at: Date, scope: string, { agent_id, workflow_id }: { agent_id: string; workflow_id: string }) =>
    sql(
      `INSERT INTO memories (id, agent_id, scope, workflow_id, key, value, created_by, created_at, updated_at)
        VALUES ($1, $2, $3, $4, 'k', 'v', 'local:alice', $5, $5)`,
      ...[idAt(at), agent_id, scope, scope === 'session' ? workflow_id : '', at],
    );

  return {
    ...{ sql, workflow, thread, definition, task, events, attachment, conversation, partsOf, tokenUse, grant, schedule, fire },
    memory,
  };
}

interface TaskGiven {
  task_id: string;
  agent_id: string;
  workflow_id: string;
  status: string;
  definition_hash: string;
  forked_from: string;
}
