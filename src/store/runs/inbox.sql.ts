import { SHOWN_ARGUMENTS, SHOWN_PROMPT } from '../../contracts/inbox.ts';
import { statement } from '../database/statement.ts';

const OF_RUN = 't.record_behind, t.workflow_id, t.workflow_title, t.agent_id, t.agent_name, t.prompt';

/** Runs and calls that began to wait before this was recorded are dated by the start of the run. */
const SINCE_RUN = 'coalesce(t.waiting_since, t.started_at, t.created_at)';

/**
 * The decisions that the owner's runs wait for, one row each. A call that was decided, or whose question was answered, waits for its run
 * and not for a person; so does a run all of whose decisions are made.
 */
const OPEN = `open AS (
      SELECT t.id::text || '/' || c.call_id AS id,
        CASE c.status WHEN 'waiting_approval' THEN 'approval' WHEN 'waiting_answer' THEN 'question' WHEN 'waiting_client' THEN 'client'
          ELSE 'reconciliation' END AS kind,
        t.id AS task_id, c.call_id, c.name AS tool, c.effect, c.arguments, CASE c.status WHEN 'waiting_answer' THEN c.question END AS question,
        ${OF_RUN}, coalesce(c.waiting_since, ${SINCE_RUN}) AS waiting_since
      FROM tasks t JOIN tool_calls c ON c.task_id = t.id
      WHERE t.owner = :owner AND t.status = 'waiting' AND c.status LIKE 'waiting%' AND c.decision IS NULL
        AND (c.status <> 'waiting_answer' OR c.question IS NOT NULL)
      UNION ALL
      SELECT t.id::text, CASE WHEN t.record_behind IS NULL THEN 'budget' ELSE 'behind' END, t.id, NULL, NULL, NULL, NULL, NULL,
        ${OF_RUN}, ${SINCE_RUN}
      FROM tasks t
      WHERE t.owner = :owner AND t.status = 'waiting' AND CASE WHEN t.record_behind IS NULL
        THEN NOT EXISTS (SELECT FROM tool_calls c WHERE c.task_id = t.id AND c.status LIKE 'waiting%') ELSE t.continuity IS NULL END)`;

export const listInbox = statement(
  'list_inbox',
  ['owner', 'of_kind', 'of_task', 'of_workflow', 'of_agent', 'of_tool', 'after_time', 'after_id', 'most'],
  `WITH ${OPEN},
    matching AS MATERIALIZED (
      SELECT * FROM open WHERE (:of_kind::text IS NULL OR kind = :of_kind) AND (:of_task::uuid IS NULL OR task_id = :of_task)
        AND (:of_workflow::uuid IS NULL OR workflow_id = :of_workflow)
        AND (:of_agent::uuid IS NULL OR agent_id = :of_agent) AND (:of_tool::text IS NULL OR strpos(lower(tool), lower(:of_tool)) > 0)),
    page AS (
      SELECT id, kind, task_id, call_id, tool, effect, left(arguments, ${SHOWN_ARGUMENTS}) AS arguments,
        coalesce(length(arguments) > ${SHOWN_ARGUMENTS}, false) AS arguments_cut, question, record_behind, workflow_id, workflow_title,
        agent_id, agent_name, left(prompt, ${SHOWN_PROMPT}) AS prompt, waiting_since
      FROM matching WHERE :after_time::timestamptz IS NULL OR (waiting_since, id) > (:after_time, :after_id::text)
      ORDER BY waiting_since, id LIMIT :most)
    SELECT page.*, total FROM (SELECT count(*)::int AS total FROM matching) counted LEFT JOIN page ON true ORDER BY waiting_since, id`,
);
