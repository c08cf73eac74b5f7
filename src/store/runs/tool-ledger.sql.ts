import { hasRun, statement } from '../database/statement.ts';
import { LIVE, LOCKED_TASK, WAITS } from './runs.sql.ts';

/* Locks in the order of runs.sql.ts. */

export const openCall = statement(
  'open_call',
  ['task_id', 'call_id'],
  `SELECT t.id AS task_id, :call_id::text AS call_id, c.step, c.position, c.name, c.arguments, c.effect, c.approval, c.status, c.attempts,
      c.errors, c.decision, c.call_id IS NOT NULL AS known,
      EXISTS (SELECT 1 FROM definitions d WHERE d.hash = t.definition_hash) AS defined,
      t.restored_at IS NOT NULL AND (c.started_at IS NULL OR c.started_at < t.restored_at) AS restored,
      t.workflow_id, t.owner, t.owner_login, t.definition_hash, t.turns, t.status AS task_status, t.halt_requested, t.toolset,
      CASE WHEN t.fork_step IS NOT NULL
        THEN json_build_object('task_id', t.forked_from, 'step', t.fork_step, 'effects', t.fork_effects) END AS fork
    FROM tasks t LEFT JOIN tool_calls c ON c.task_id = t.id AND c.call_id = :call_id WHERE t.id = :task_id`,
);

/* A call moves on only from where its attempt saw it, and only while its task lives. */
export const LIVE_TASK = `live AS (SELECT 1 FROM tasks WHERE id = :task_id AND status IN (${LIVE}) FOR SHARE)`;
export const SEEN = `task_id = :task_id AND call_id = :call_id AND status = :seen_status AND attempts = :seen_attempts
        AND EXISTS (SELECT 1 FROM live)`;

/** The parameters of a statement about a call as its attempt saw it. */
const SEEN_CALL = ['task_id', 'workflow_id', 'call_id', 'seen_status', 'seen_attempts'] as const;

const NUMBERED = 'SELECT append_events(:workflow_id, :task_id, :events) AS last FROM call';

export const startCall = statement(
  'start_call',
  [...SEEN_CALL, 'events'],
  `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET status = 'started', attempts = attempts + 1, started_at = now(), decision = NULL,
        may_have_run = may_have_run OR status IN ('started', 'waiting_answer', 'waiting_reconciliation') WHERE ${SEEN} RETURNING 1)
    ${NUMBERED}`,
);

const END = [
  ...SEEN_CALL,
  'step',
  'position',
  'kind',
  'content',
  'failed',
  'stdout',
  'stderr',
  'duration_ms',
  'extra',
  'events',
] as const;

/** No separate statement starts a brief call: its only attempt is counted with its end. */
const buildEndCall = (live: string) => `WITH ${live},
    call AS (
      UPDATE tool_calls SET status = CASE WHEN :kind = 'denial' THEN 'denied' ELSE 'done' END, failed = :failed,
        stdout = :stdout, stderr = :stderr, duration_ms = :duration_ms, ended_at = now(), decision = NULL,
        question = NULL, answers = NULL, attempts = attempts + CASE status WHEN 'planned' THEN 1 ELSE 0 END,
        started_at = CASE status WHEN 'planned' THEN now() - make_interval(secs => :duration_ms::int / 1e3) ELSE started_at END
      WHERE ${SEEN} RETURNING 1),
    message AS (
      INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id, extra)
      SELECT :task_id, :step, :position, 'tool', :kind, :content, :call_id, :extra::jsonb FROM call ON CONFLICT DO NOTHING)`;

export const endCall = statement('end_call', END, `${buildEndCall(LIVE_TASK)} ${NUMBERED}`);

/** The same for a call that has set the run's to-do list. Two such calls of a run take turns: neither could raise a shared lock. */
export const endCallWithTodos = statement(
  'end_call_with_todos',
  [...END, 'todos'],
  `${buildEndCall(LOCKED_TASK)},
    list AS (UPDATE tasks SET todos = :todos::jsonb WHERE id = :task_id AND EXISTS (SELECT 1 FROM call))
    ${NUMBERED}`,
);

/** A fork's call that is answered without being executed. */
export const answerCall = statement(
  'answer_call',
  [...SEEN_CALL, 'step', 'position', 'content', 'failed', 'answered_by', 'extra', 'events'],
  `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET status = 'done', failed = :failed, answered_by = :answered_by, ended_at = now()
      WHERE ${SEEN} RETURNING 1),
    message AS (
      INSERT INTO task_messages (task_id, step, position, role, kind, content, call_id, extra)
      SELECT :task_id, :step, :position, 'tool', 'result', :content, :call_id, :extra::jsonb FROM call ON CONFLICT DO NOTHING)
    ${NUMBERED}`,
);

export const parkCall = statement(
  'park_call',
  [...SEEN_CALL, 'status', 'events'],
  `WITH fresh AS (
      SELECT 1 FROM tool_calls WHERE task_id = :task_id AND call_id = :call_id AND status = :seen_status AND attempts = :seen_attempts),
    lane AS (
      UPDATE workflows SET status = 'waiting' WHERE id = :workflow_id AND active_task_id = :task_id AND status = 'running'
        AND EXISTS (SELECT 1 FROM fresh) RETURNING 1),
    live AS (
      UPDATE tasks SET ${WAITS} WHERE id = :task_id AND status IN (${LIVE}) AND EXISTS (SELECT 1 FROM fresh)
        AND ${hasRun('lane')} RETURNING 1),
    call AS (UPDATE tool_calls SET status = :status, decision = NULL, waiting_since = now() WHERE ${SEEN} AND status <> :status RETURNING 1)
    ${NUMBERED}`,
);

/** Puts a question of a call in progress to a person. The call continues when it has taken the answer. */
export const askQuestion = statement(
  'ask_question',
  ['task_id', 'workflow_id', 'call_id', 'seen_attempts', 'question', 'events'],
  `WITH fresh AS (
      SELECT 1 FROM tool_calls WHERE task_id = :task_id AND call_id = :call_id AND status = 'started' AND attempts = :seen_attempts),
    lane AS (
      UPDATE workflows SET status = 'waiting' WHERE id = :workflow_id AND active_task_id = :task_id AND status = 'running'
        AND EXISTS (SELECT 1 FROM fresh) RETURNING 1),
    live AS (
      UPDATE tasks SET ${WAITS} WHERE id = :task_id AND status IN (${LIVE}) AND EXISTS (SELECT 1 FROM fresh)
        AND ${hasRun('lane')} RETURNING 1),
    call AS (
      UPDATE tool_calls SET status = 'waiting_answer', question = :question::jsonb, waiting_since = now()
      WHERE task_id = :task_id AND call_id = :call_id AND status = 'started' AND attempts = :seen_attempts
        AND EXISTS (SELECT 1 FROM live) RETURNING 1)
    ${NUMBERED}`,
);

/** The open question of a call, and the answers that its attempts have been given. */
export const readQuestion = statement(
  'read_question',
  ['task_id', 'call_id'],
  `SELECT status, attempts, question, coalesce(answers, '[]'::jsonb) AS answers FROM tool_calls
    WHERE task_id = :task_id AND call_id = :call_id`,
);

/** Answers are kept until the call ends: if its worker is lost, the next attempt may ask the same. */
export const answerQuestion = statement(
  'answer_question',
  ['task_id', 'workflow_id', 'call_id', 'question_id', 'answer', 'answered_by', 'events'],
  `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET question = NULL, answers = coalesce(answers, '[]'::jsonb) || :answer::jsonb, decided_by = :answered_by
      WHERE task_id = :task_id AND call_id = :call_id AND status = 'waiting_answer' AND question ->> 'id' = :question_id
        AND EXISTS (SELECT 1 FROM live) RETURNING 1)
    ${NUMBERED}`,
);

/** The call continues: its question was answered, or no longer needs an answer. */
export const closeQuestion = statement(
  'close_question',
  ['task_id', 'workflow_id', 'call_id', 'seen_attempts', 'answered', 'events'],
  `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET status = 'started', question = NULL
      WHERE task_id = :task_id AND call_id = :call_id AND status = 'waiting_answer' AND attempts = :seen_attempts
        AND (question IS NULL) = :answered AND EXISTS (SELECT 1 FROM live) RETURNING 1)
    ${NUMBERED}`,
);

/** Resumes a run once its last waiting call resumes. A separate statement, so that it sees concurrent changes to the other calls. */
export const resumeRun = statement(
  'resume_run',
  ['task_id', 'workflow_id', 'events'],
  `WITH quiet AS (SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM tool_calls WHERE task_id = :task_id AND status LIKE 'waiting%')),
    lane AS (
      UPDATE workflows SET status = 'running' WHERE id = :workflow_id AND active_task_id = :task_id AND status = 'waiting'
        AND EXISTS (SELECT 1 FROM quiet) RETURNING 1),
    run AS (
      UPDATE tasks SET status = 'running' WHERE id = :task_id AND status = 'waiting' AND EXISTS (SELECT 1 FROM quiet)
        AND ${hasRun('lane')} RETURNING 1)
    SELECT append_events(:workflow_id, :task_id, :events) AS last FROM run`,
);

export const releaseCall = statement(
  'release_call',
  [...SEEN_CALL, 'reached', 'counted', 'events'],
  `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET status = 'planned', errors = errors + :counted::int, may_have_run = may_have_run OR :reached
      WHERE ${SEEN} RETURNING 1)
    ${NUMBERED}`,
);

/** Emits nothing for a call that has ended. */
export const tellCall = statement(
  'tell_call',
  ['task_id', 'workflow_id', 'call_id', 'events'],
  `SELECT append_events(:workflow_id, :task_id, :events) AS last FROM (
      SELECT 1 FROM tool_calls WHERE task_id = :task_id AND call_id = :call_id AND status = 'started' FOR SHARE) AS call`,
);

/** `attempts`: the call must be at this attempt; null for a person's decision. */
export const decideCall = statement(
  'decide_call',
  ['task_id', 'workflow_id', 'call_id', 'waits', 'decision', 'decided_by', 'attempts', 'events'],
  `WITH ${LIVE_TASK},
    call AS (
      UPDATE tool_calls SET decision = :decision, decided_by = :decided_by
      WHERE task_id = :task_id AND call_id = :call_id AND status = ANY (:waits::text[]) AND decision IS NULL
        AND (:attempts::int IS NULL OR attempts = :attempts)
        AND EXISTS (SELECT 1 FROM live) RETURNING 1)
    ${NUMBERED}`,
);

/** A client that executes calls asks for them; a later step means that they have all been answered. */
export const lastCalls = statement(
  'last_calls',
  ['task_id', 'names'],
  `SELECT call_id, name, arguments, status, decision IS NOT NULL AS answered FROM tool_calls
    WHERE task_id = :task_id AND name = ANY (:names::text[]) AND step = (SELECT max(step) FROM task_steps WHERE task_id = :task_id)
    ORDER BY position`,
);
