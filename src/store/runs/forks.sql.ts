import { statement } from '../database/statement.ts';

export const stepsOfSource = statement(
  'steps_of_source',
  ['source_id'],
  `SELECT s.step, coalesce((SELECT json_agg(json_build_object('call_id', c.call_id, 'name', c.name) ORDER BY c.position)
      FROM tool_calls c WHERE c.task_id = s.task_id AND c.step = s.step), '[]'::json) AS calls,
      EXISTS (SELECT 1 FROM task_messages m WHERE m.task_id = s.task_id AND m.step = s.step AND m.kind = 'repair') AS rejected
    FROM task_steps s WHERE s.task_id = :source_id ORDER BY s.step`,
);

/** Keeps the source from being removed, now and as long as the fork exists. Writers of the source do not wait. */
export const holdSource = statement(
  'hold_source',
  ['source_id'],
  `SELECT 1 AS held FROM tasks WHERE id = :source_id FOR KEY SHARE`,
);

/*
 * Copied steps have no cost: the source has paid for them. A summary is stored at the last step it covers, but belongs to the
 * step that created it.
 */
export const markFork = statement(
  'mark_fork',
  ['fork_id', 'source_id', 'step', 'effects', 'turns'],
  `UPDATE tasks SET forked_from = :source_id, fork_step = :step, fork_effects = :effects, turns = :turns, toolset = source.toolset
    FROM tasks source WHERE tasks.id = :fork_id AND source.id = :source_id`,
);

export const copySteps = statement(
  'copy_steps',
  ['fork_id', 'source_id', 'step'],
  `INSERT INTO task_steps (task_id, step, model, provider_id, provider_name, fallback, finish, started_at, ended_at)
    SELECT :fork_id::uuid, step, model, provider_id, provider_name, fallback, finish, started_at, ended_at FROM task_steps WHERE task_id = :source_id AND step < :step`,
);

export const copyCalls = statement(
  'copy_calls',
  ['fork_id', 'source_id', 'step'],
  `INSERT INTO tool_calls (task_id, call_id, step, position, name, arguments, effect, approval, status, failed, decided_by, stdout,
      stderr, duration_ms, started_at, ended_at, answered_by)
    SELECT :fork_id::uuid, call_id, step, position, name, arguments, effect, approval, status, failed, decided_by, stdout,
      stderr, duration_ms, started_at, ended_at, CASE WHEN status = 'done' THEN coalesce(answered_by, 'recorded') END
    FROM tool_calls WHERE task_id = :source_id AND step < :step`,
);

/** The messages before the step. A summary created by the step or later is not among them. */
const BEFORE = `task_id = :source_id AND step < :step AND (kind <> 'summary'
      OR created_at < (SELECT started_at FROM task_steps WHERE task_id = :source_id AND step = :step))`;

/**
 * Copies messages. The `extra` of a reply is data that only its provider accepts; another provider would reject it, and the fork
 * begins with the run's own model. That of other messages is about their files.
 */
export const copyMessages = statement(
  'copy_messages',
  ['fork_id', 'source_id', 'step', 'keeps_extra'],
  `INSERT INTO task_messages (task_id, step, position, role, kind, content, tool_calls, call_id, extra, created_at)
    SELECT :fork_id::uuid, step, position, role, kind, content, tool_calls, call_id,
      CASE WHEN role <> 'assistant' OR :keeps_extra::boolean AND NOT EXISTS (SELECT 1 FROM task_steps f
        WHERE f.task_id = :source_id AND f.step = task_messages.step AND f.fallback > 0) THEN extra END, created_at FROM task_messages
    WHERE ${BEFORE}`,
);

/** Links the files of copied messages, other than those of the prompt, to the fork. */
export const copySteerFiles = statement(
  'copy_steer_files',
  ['fork_id', 'source_id'],
  `INSERT INTO task_attachments (task_id, position, attachment_id)
    SELECT :fork_id::uuid, position, attachment_id FROM task_attachments WHERE task_id = :source_id AND position < 0`,
);

export const messagesBefore = statement(
  'messages_before',
  ['source_id', 'step'],
  `SELECT step, position, role, kind FROM task_messages WHERE ${BEFORE} ORDER BY step, position`,
);

export const editMessages = statement(
  'edit_messages',
  ['fork_id', 'edits'],
  `UPDATE task_messages m SET content = e.content
    FROM jsonb_to_recordset(:edits::jsonb) AS e (step int, position int, content text)
    WHERE m.task_id = :fork_id AND m.step = e.step AND m.position = e.position`,
);

export const addForkMessage = statement(
  'add_fork_message',
  ['fork_id', 'step', 'first_position', 'content'],
  `INSERT INTO task_messages (task_id, step, position, role, kind, content)
    SELECT :fork_id::uuid, :step::int, coalesce(max(position), :first_position::int - 1) + 1, 'user', 'prompt', :content
    FROM task_messages
    WHERE task_id = :fork_id AND step = :step::int AND position BETWEEN :first_position::int AND :first_position::int + 1000`,
);

/** Returns results that a tool returned in the source, without stubs, refusals and unknown outcomes. */
export const recordedResults = statement(
  'recorded_results',
  ['source_id', 'from_step', 'name', 'outcome_unknown'],
  `SELECT c.name, c.arguments, m.content, c.failed, m.extra -> 'files' AS files FROM tool_calls c
    JOIN task_messages m ON m.task_id = c.task_id AND m.step = c.step AND m.position = c.position
    WHERE c.task_id = :source_id AND c.step >= :from_step AND c.name = :name AND c.status = 'done' AND m.kind = 'result'
      AND coalesce(c.answered_by, 'recorded') = 'recorded' AND m.content <> :outcome_unknown
    ORDER BY c.step, c.position`,
);

export const earlierCalls = statement(
  'earlier_calls',
  ['fork_id', 'from_step', 'name', 'step', 'position'],
  `SELECT name, arguments FROM tool_calls
    WHERE task_id = :fork_id AND step >= :from_step AND name = :name AND (step, position) < (:step, :position)`,
);
