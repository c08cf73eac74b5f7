interface Equivalent {
  names: 'all' | readonly string[];
  /** The part of the statement that holds the change, for what is changed elsewhere in it, too. */
  within?: string;
  was: string;
  becomes: string;
  reason: string;
}

/** A condition that forces an order by counting a row which is always there. */
const withRow = (name: string, names: readonly string[]): Equivalent[] =>
  [
    ['>=', '>'],
    ['0', '1'],
  ].map(([was, becomes]) => ({
    names,
    within: `(SELECT count(*) FROM ${name}) >= 0`,
    was: was!,
    becomes: becomes!,
    reason:
      'It forces the order of locks. The row is there whenever the statement gets so far: what it updates was found before.',
  }));

const LOCK_NUMBERS = ['7215011840', '7215011841', '7215011842', '7215011843'];

const FIRST_AND_LAST_TASK = `task_id BETWEEN (SELECT t.id FROM tasks t WHERE t.workflow_id = $1 ORDER BY t.id LIMIT 1)
  AND (SELECT t.id FROM tasks t WHERE t.workflow_id = $1 ORDER BY t.id DESC LIMIT 1)`;

/** Changes of SQL that no input can show, each with the reason. */
export const EQUIVALENT: readonly Equivalent[] = [
  ...LOCK_NUMBERS.map(
    (number): Equivalent => ({
      names: 'all',
      was: number,
      becomes: String(Number(number) + 1),
      reason: 'Any number does that no other lock has.',
    }),
  ),
  {
    names: 'all',
    was: '200',
    becomes: '201',
    reason: 'The size of a batch: the caller asks again until nothing is left.',
  },
  {
    names: ['open_cursors'],
    was: '100',
    becomes: '101',
    reason: 'The size of a batch: the rest has its turn with the next round.',
  },
  {
    names: ['open_cursors'],
    was: 'cursor IS NOT NULL',
    becomes: 'TRUE',
    reason: "No value is <> 'null' without being one. The planner finds the partial index by it.",
  },
  {
    names: ['open_cursors'],
    was: ')',
    becomes: ') DESC',
    reason: 'The order is random.',
  },
  {
    names: ['forget_cursor'],
    was: 'cursor IS NOT NULL',
    becomes: 'TRUE',
    reason: 'It only saves a write.',
  },
  {
    names: ['read_event', 'read_events', 'beginning_before'],
    was: FIRST_AND_LAST_TASK,
    becomes: 'TRUE',
    reason: 'It only says in which partitions the events are; read-plans.test.ts demands that.',
  },
  {
    names: ['read_event', 'read_events', 'beginning_before'],
    was: 't.workflow_id = $1',
    becomes: 'TRUE',
    reason: 'It only says in which partitions the events are; read-plans.test.ts demands that.',
  },
  {
    names: ['read_events', 'read_task_events'],
    was: '0',
    becomes: '1',
    reason: 'No JSON is one character long that an event can have as its data.',
  },
  {
    names: ['begin_attempt', 'park_behind', 'park_call', 'ask_question', 'resume_run', 'wait_for_budget'],
    was: '(SELECT count(*) FROM lane) >= 0',
    becomes: 'TRUE',
    reason: 'It is true; it forces the order of locks, which locks.test.ts demands.',
  },
  {
    names: ['write_reply', 'note_error', 'note_halted', 'wait_for_budget'],
    was: '(SELECT count(*) FROM run) >= 0',
    becomes: 'TRUE',
    reason: 'It is true; it forces the order of locks, which locks.test.ts demands.',
  },
  {
    names: ['note_usage', 'compact_transcript'],
    was: '(SELECT count(*) FROM step) >= 0',
    becomes: 'TRUE',
    reason: 'It is true; it forces the order of locks, which locks.test.ts demands.',
  },
  {
    names: [
      ...['created_task', 'open_result', 'recorded_calls_of_item', 'regressions', 'search_passages', 'waiting_task_of_schedule'],
      ...['queued_tasks', 'superseded_tasks', 'unfinished_task', 'unfinished_tasks', 'remove_fires', 'snapshot_workflow'],
      'not_joined_by_tag',
    ],
    was: 'JOIN',
    becomes: 'LEFT JOIN',
    reason: 'A foreign key makes sure that each row has its other one.',
  },
  {
    names: [
      ...['append_deltas', 'append_text', 'append_texts', 'compact_transcript', 'wait_for_budget'],
      ...['measure_alerts', 'note_alerts', 'read_workload', 'recorded_calls_of_task', 'recorded_results', 'token_holders'],
      'tokens_of_run',
    ],
    was: 'JOIN',
    becomes: 'LEFT JOIN',
    reason: 'A later condition on the other row is not true without one.',
  },
  ...withRow('run', ['write_reply', 'note_error', 'note_halted', 'wait_for_budget']),
  ...withRow('step', ['compact_transcript']),
  {
    names: ['begin_attempt'],
    was: "(status <> 'running' OR current_turn <> $4)",
    becomes: 'TRUE',
    reason: 'It only saves a write.',
  },
  {
    names: ['take_lane'],
    was: "status <> 'inactive'",
    becomes: 'TRUE',
    reason: 'next_in_lane finds nobody for a workflow that was switched off.',
  },
  {
    names: ['create_task'],
    was: 'NOT EXISTS (SELECT FROM known)',
    becomes: 'TRUE',
    reason: 'A version that is known is left out as a conflict, too.',
  },
  {
    names: ['search_passages'],
    was: '$5::real[] IS NOT NULL',
    becomes: 'TRUE',
    reason: 'Without a vector there is no number of its elements to compare.',
  },
  {
    names: ['search_passages'],
    within: 'n.score < 0',
    was: '<',
    becomes: '<=',
    reason: 'A score of 0 stays 0.',
  },
  ...['up', 'down'].flatMap((thumb): Equivalent[] => [
    {
      names: ['scores_by_version'],
      was: `coalesce(sum(s.${thumb}), 0)`,
      becomes: `(sum(s.${thumb}))`,
      reason: 'Each task has a row of counts, and a count is never NULL.',
    },
    {
      names: ['scores_by_version'],
      within: `coalesce(sum(s.${thumb}), 0)`,
      was: '0',
      becomes: '1',
      reason: 'Each task has a row of counts, and a count is never NULL.',
    },
  ]),
  {
    names: ['scores_by_version'],
    was: 'LEFT JOIN',
    becomes: 'JOIN',
    reason: 'An aggregate without groups has one row.',
  },
  ...['created_at', 'expires_at', 'at'].map(
    (column): Equivalent => ({
      names: ['expire_keys', 'remove_mcp_sign_in_attempts', 'remove_browser_sessions', 'remove_audit'],
      was: column,
      becomes: `${column} DESC`,
      reason: 'Which rows are in the first batch: the caller asks again until nothing is left.',
    }),
  ),
  ...['1, 2, 3, 4, 5, 6, 7, 8', '1, 2, 3, 4, 5'].flatMap((keys) =>
    keys.split(', ').flatMap((key) =>
      [`${key} DESC`, String(Number(key) + 1)].map(
        (becomes): Equivalent => ({
          names: ['add_usage'],
          within: `GROUP BY ${keys} ORDER BY ${keys}\n    ON CONFLICT`,
          was: key,
          becomes,
          reason: 'The rows are the same. Only deletions at the same time could show the order in which they are locked.',
        }),
      ),
    ),
  ),
  {
    names: ['keep_partial_response', 'close_open_work'],
    within: "type = 'message_delta' AND seq > coalesce(",
    was: '>',
    becomes: '>=',
    reason: 'The event before the texts is not a text.',
  },
  {
    names: ['keep_partial_response'],
    within: 'LIMIT 1',
    was: '1',
    becomes: '2',
    reason: 'SELECT INTO takes the first row.',
  },
  {
    names: ['keep_partial_response'],
    within: "IF coalesce(said, '') <> ''",
    was: "coalesce(said, '')",
    becomes: '(said)',
    reason: "NULL is not <> '' either.",
  },
  {
    names: ['add_usage'],
    within: 'LEFT JOIN definitions',
    was: 'LEFT JOIN',
    becomes: 'JOIN',
    reason: 'A foreign key makes sure that each task has its definition.',
  },
  ...['tool_calls c JOIN tasks', 'task_steps s JOIN tasks'].map(
    (within): Equivalent => ({
      names: ['add_usage'],
      within,
      was: 'JOIN',
      becomes: 'LEFT JOIN',
      reason: 'A later condition on the task is not true without one.',
    }),
  ),
  {
    names: ['add_usage'],
    within: 'WHEN ms <= 1',
    was: '<=',
    becomes: '<',
    reason: 'The logarithm of 1 is 0, too.',
  },
  {
    names: ['add_usage'],
    within: '* 1000, 0)::numeric',
    was: '0',
    becomes: '1',
    reason: 'Class 0 has 0 ms and 1 ms.',
  },
  {
    names: ['add_usage'],
    was: 'coalesce(c.failed, false)',
    becomes: '(c.failed)',
    reason: 'FILTER leaves out NULL as it does false.',
  },
  {
    names: ['add_usage'],
    within: 'c.step >= coalesce(t.fork_step, 0)',
    was: '0',
    becomes: '1',
    reason: 'No step has the number 0.',
  },
  ...['w.id FOR KEY SHARE', 't.id FOR UPDATE', 's.workflow_id FOR UPDATE', 'w.id ON CONFLICT'].map((place): Equivalent => {
    const column = /\w+(?= )/.exec(place.slice(2))![0];
    return {
      names: ['note_restore'],
      within: `ORDER BY ${place}`,
      was: column,
      becomes: `${column} DESC`,
      reason: 'The rows are the same. Only writes at the same time could show the order in which they are locked.',
    };
  }),
  ...['t.completed_at IS NULL', 'IS'].map(
    (was): Equivalent => ({
      names: ['note_restore'],
      within: 'PERFORM 1 FROM tasks t WHERE t.completed_at IS NULL',
      was,
      becomes: was === 'IS' ? 'IS NOT' : 'TRUE',
      reason: 'It only says which tasks are locked before they are changed.',
    }),
  ),
  ...['e.task_id BETWEEN home.first AND home.last', 't.workflow_id = s.workflow_id'].map(
    (was): Equivalent => ({
      names: ['note_restore'],
      was,
      becomes: 'TRUE',
      reason: 'It only says in which partitions the events are.',
    }),
  ),
  {
    names: ['note_restore'],
    within: 'LEFT JOIN LATERAL (SELECT (SELECT t.id',
    was: 'LEFT JOIN',
    becomes: 'JOIN',
    reason: 'A query without FROM has one row.',
  },
  {
    names: ['next_in_lane'],
    was: 'JOIN',
    becomes: 'LEFT JOIN',
    reason: 'A foreign key makes sure that each row has its other one.',
  },
];
