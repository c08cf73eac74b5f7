import type { Mutant, MutantTest } from './mutant.ts';

const of = (name: string) => `prisma/functions/${name}.sql`;
const inFile =
  (file: string) =>
  (name: string): MutantTest[] => [{ file: `test/${file}.test.ts`, name }];
const settlement = inFile('api/settlement');
const lanes = inFile('api/lanes');
const texts = inFile('api/grouped-texts');
const usage = inFile('api/usage');
const edges = inFile('api/grant-edges');

export default [
  {
    id: 'functions/ended-twice',
    file: of('end_task'),
    text: " AND status IN ('pending', 'running', 'waiting') RETURNING * INTO ended;",
    replacement: ' RETURNING * INTO ended;',
    harm: 'A run that completed is halted afterwards, and two webhooks report two ends.',
    tests: settlement('opens one delivery and returns it to everyone'),
  },
  {
    id: 'functions/open-calls-of-a-halt',
    file: of('end_task'),
    text: "IF p_status <> 'completed' THEN",
    replacement: "IF p_status = 'failed' THEN",
    harm: 'The transcript of a halted run has calls without results, which no provider accepts in a fork.',
    tests: settlement('says only what is known of a call that'),
  },
  {
    id: 'functions/paused-workflow',
    file: of('end_task'),
    text: "CASE WHEN status = 'inactive' THEN status WHEN holder IS NULL",
    replacement: 'CASE WHEN holder IS NULL',
    harm: 'A workflow that was paused becomes active when its run ends, and its schedules fire again.',
    tests: lanes('keeps a workflow inactive that was paused'),
  },
  {
    id: 'functions/order-of-acceptance',
    file: of('next_in_lane'),
    text: 't.lane_number NULLS FIRST, t.id LIMIT 1',
    replacement: 't.id LIMIT 1',
    harm: 'Prompts to one workflow run in another order than they were accepted in.',
    tests: lanes('whatever their ids'),
  },
  {
    id: 'functions/unnumbered-tasks',
    file: of('next_in_lane'),
    text: 'NULLS FIRST',
    replacement: 'NULLS LAST',
    harm: 'After an upgrade the prompts that waited longest run last.',
    tests: lanes('runs the tasks first that a server of the release before accepted'),
  },
  {
    id: 'functions/interrupting-first',
    file: of('next_in_lane'),
    text: "ORDER BY (t.on_busy = 'interrupt') DESC, ",
    replacement: 'ORDER BY ',
    harm: 'An urgent prompt waits behind all that were queued before it.',
    tests: lanes('lets the newest that interrupts go first'),
  },
  {
    id: 'functions/withdrawn-but-begun',
    file: of('discard_task'),
    text: "WHERE id = p_task AND status = 'pending';",
    replacement: 'WHERE id = p_task;',
    harm: 'A run whose start seemed to fail is deleted while it works.',
    tests: lanes('is not one that has begun'),
  },
  {
    id: 'functions/events-of-the-withdrawn',
    file: of('discard_task'),
    text: '  DELETE FROM events WHERE task_id = p_task;\n',
    replacement: '',
    harm: 'A stream shows a prompt that was refused.',
    tests: lanes('leaves its workflow as if it had not been asked for'),
  },
  {
    id: 'functions/count-of-the-withdrawn',
    file: of('discard_task'),
    text: 'SET task_count = task_count - 1, last_task_id',
    replacement: 'SET last_task_id',
    harm: 'A workflow that never ran shows runs.',
    tests: lanes('leaves its workflow as if it had not been asked for'),
  },
  {
    id: 'functions/lane-of-an-ended-task',
    file: of('settle_lanes'),
    text: "t.status IN ('completed', 'failed', 'halted')",
    replacement: "t.status IN ('completed', 'failed')",
    harm: 'A lane whose run was halted as its worker died never continues.',
    tests: lanes('goes to the next task: the holder'),
  },
  {
    id: 'functions/text-of-a-stale-attempt',
    file: of('append_text'),
    text: ' AND s.attempts = p_attempt\n',
    replacement: '\n',
    harm: 'A worker that was replaced continues to speak while its successor does.',
    tests: texts('refuses in a batch what it refuses alone'),
  },
  {
    id: 'functions/texts-of-a-stale-attempt',
    file: of('append_texts'),
    text: ' AND s.attempts = g.attempt AND',
    replacement: ' AND',
    harm: 'A worker that was replaced continues to speak while its successor does.',
    tests: texts('refuses in a batch what it refuses alone'),
  },
  {
    id: 'functions/text-once',
    file: of('append_text'),
    text: '  IF written IS NOT NULL THEN RETURN written; END IF;\n',
    replacement: '',
    harm: 'After a broken connection a run says a piece of its text twice.',
    tests: texts('is written once, and has the number of its first sending'),
  },
  {
    id: 'functions/locked-texts',
    file: of('append_texts'),
    text: 'FOR SHARE OF t, s SKIP LOCKED',
    replacement: 'FOR SHARE OF t, s',
    harm: 'One run that is being halted stops the text of all others.',
    tests: texts('lets no locked task hold up the others'),
  },
  {
    id: 'functions/response-of-a-former-attempt',
    file: of('keep_partial_response'),
    text: " OR (type = 'log' AND data ->> 'event' = 'attempt_reset')",
    replacement: '',
    harm: 'A halted run answers with text that was taken back.',
    tests: settlement('is the text of its last attempt alone'),
  },
  {
    id: 'functions/partial-of-a-former-attempt',
    file: of('close_open_work'),
    text: " OR (type = 'log' AND data ->> 'event' = 'attempt_reset')",
    replacement: '',
    harm: 'The transcript of a run that failed holds text that was taken back.',
    tests: settlement('is the text of its last attempt alone'),
  },
  {
    id: 'functions/response-of-the-last-reply',
    file: of('keep_partial_response'),
    text: 'ORDER BY step DESC, position DESC LIMIT 1',
    replacement: 'ORDER BY step, position LIMIT 1',
    harm: 'A run that is halted after ten steps answers with what it said in the first.',
    tests: settlement('is its last reply if it was saying nothing'),
  },
  {
    id: 'functions/delivered-webhook',
    file: of('pending_webhook'),
    text: "WHERE task_id = p_task AND status = 'pending' LIMIT 1",
    replacement: 'WHERE task_id = p_task LIMIT 1',
    harm: 'A receiver gets its webhook again whenever the end of the run is repeated.',
    tests: settlement('returns no delivery that has been made'),
  },
  {
    id: 'functions/sum-of-usage',
    file: of('add_usage'),
    text: 'runs = u.runs + excluded.runs, ',
    replacement: 'runs = excluded.runs, ',
    harm: 'The usage of an hour is that of its last minute.',
    tests: usage('keeps the usage of what is deleted'),
  },
  {
    id: 'functions/usage-of-deleted-runs',
    file: of('usage_of_deleted'),
    text: 'AND NOT OLD.usage_counted',
    replacement: 'AND OLD.usage_counted',
    harm: 'Who deletes a run at once has spent nothing; who deletes it later has spent twice.',
    tests: usage('keeps the usage of what is deleted'),
  },
  ...(['provider', 'custom_tool', 'mcp_server', 'knowledge_source', 'workflow'] as const).map(
    (kind): Mutant => ({
      id: `functions/grants-of-a-deleted-${kind}`,
      file: of('drop_secret_grants'),
      text: `drop_secret_grants('${kind}')`,
      replacement: "drop_secret_grants('nothing')",
      harm: 'Grants of resources that are gone stay in the list of a token, and count among its uses.',
      tests: edges('grants are deleted with their resource'),
    }),
  ),
] satisfies Mutant[];
