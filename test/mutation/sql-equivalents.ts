interface Equivalent {
  names: 'all' | readonly string[];
  was: string;
  becomes: string;
  reason: string;
}

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
      ...[
        'append_deltas',
        'append_text',
        'append_texts',
        'compact_transcript',
        'wait_for_budget',
        'behind_another',
        'chat_guardrails',
      ],
      ...['measure_alerts', 'note_alerts', 'read_workload', 'recorded_calls_of_task', 'recorded_results', 'token_holders'],
      'tokens_of_run',
    ],
    was: 'JOIN',
    becomes: 'LEFT JOIN',
    reason: 'A later condition on the other row is not true without one.',
  },
];
