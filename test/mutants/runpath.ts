import type { Mutant } from './mutant.ts';

const OPENED = 'test/api/opened-at-once.test.ts';
const CALLS = 'src/store/statements/tool-ledger.ts';
const STEPS = 'src/store/statements/runs.ts';
const CALL_RULE = [{ file: OPENED, name: 'is started in the same statement only where the rules run it' }];
const STEP_RULE = [{ file: OPENED, name: 'is begun in the same statement only where nothing has to be decided' }];

export default [
  {
    id: 'runpath/started-without-approval',
    file: CALLS,
    text: 'AND attempts = 0 AND NOT approval AND decision IS NULL',
    replacement: 'AND attempts = 0 AND decision IS NULL',
    harm: 'A tool that needs approval is called without asking.',
    tests: CALL_RULE,
  },
  {
    id: 'runpath/started-after-a-restore',
    file: CALLS,
    text: 'AND restored_at IS NULL AND fork_step IS NULL',
    replacement: 'AND fork_step IS NULL',
    harm: 'A write of a restored run, which may have been made before, is made again without asking.',
    tests: CALL_RULE,
  },
  {
    id: 'runpath/started-in-a-fork',
    file: CALLS,
    text: 'AND restored_at IS NULL AND fork_step IS NULL',
    replacement: 'AND restored_at IS NULL',
    harm: 'A fork that should answer from the record pays for real.',
    tests: CALL_RULE,
  },
  {
    id: 'runpath/started-although-halted',
    file: CALLS,
    text: `status = 'running' AND NOT halt_requested AND restored_at`,
    replacement: `status = 'running' AND restored_at`,
    harm: 'A run that was halted still calls its tool.',
    tests: CALL_RULE,
  },
  {
    id: 'runpath/begun-over-open-calls',
    file: STEPS,
    text: ' AND cardinality(seen.unended) = 0',
    replacement: '',
    harm: 'The model is asked to continue without the result of its call.',
    tests: STEP_RULE,
  },
  {
    id: 'runpath/begun-over-a-gap',
    file: STEPS,
    text: ' AND seen.follows AND',
    replacement: ' AND',
    harm: 'A run whose record was restored continues over a hole.',
    tests: STEP_RULE,
  },
  {
    id: 'runpath/begun-over-the-rate',
    file: STEPS,
    text: ` AND d.body #>> '{provider,requests_per_minute}' IS NULL`,
    replacement: '',
    harm: 'A step that waits for the rate of its provider is shown as being asked, and then as retried.',
    tests: [{ file: OPENED, name: 'of a provider with a rate is begun only when the rate allows it' }],
  },
  {
    id: 'runpath/slots-not-respected',
    file: 'src/temporal/slots.ts',
    text: 'set ?? Math.ceil(',
    replacement: 'Math.ceil(',
    harm: 'A worker on a small machine takes more steps at once than its operator allowed.',
    tests: [{ file: 'test/temporal/slots.test.ts', name: 'takes no more steps at once than WORKER_MAX_ACTIVITIES' }],
  },
  {
    id: 'runpath/few-slots',
    file: 'src/temporal/slots.ts',
    text: 'set ?? Math.ceil(slotsWithin() /',
    replacement: 'set ?? Math.ceil(100 /',
    harm: 'Half of 200 people who write at once wait until the other half has its answers.',
    tests: [{ file: 'test/temporal/slots.test.ts', name: 'lets many more runs wait for their models at once' }],
  },
  {
    id: 'runpath/tools-written-by-themselves',
    file: 'src/temporal/activities/exchange/begin.ts',
    text: 'first ? await knownTools(work, outer) : null',
    replacement: 'first && order.tools_off ? await knownTools(work, outer) : null',
    harm: 'The first token of every run waits for one more transaction.',
    tests: [{ file: 'test/temporal/missing-parts.test.ts', name: 'writes its tools in the transaction that begins it' }],
  },
  {
    id: 'runpath/tools-of-servers-not-found',
    file: 'src/temporal/activities/exchange/begin.ts',
    text: 'if (mcp_servers.length > 0 || ',
    replacement: 'if (',
    harm: 'What a run lacks is published before the run has begun, and by an attempt that may have lost its step to another one.',
    tests: [{ file: 'test/temporal/missing-parts.test.ts', name: 'the tools of an MCP server that is down' }],
  },
  {
    id: 'runpath/brief-attempt-not-counted',
    file: CALLS,
    text: "attempts = attempts + CASE status WHEN 'planned' THEN 1 ELSE 0 END,",
    replacement: '',
    harm: 'A brief call is on record as never attempted.',
    tests: [{ file: 'test/temporal/brief-calls.test.ts', name: 'is on record and in the events as any call is' }],
  },
  {
    id: 'runpath/brief-call-without-beginning',
    file: 'src/temporal/activities/call-tool.ts',
    text: 'events: [...begun, ...progress, ended,',
    replacement: 'events: [...progress, ended,',
    harm: 'Readers of a stream get the result of a call whose beginning they never saw.',
    tests: [{ file: 'test/temporal/brief-calls.test.ts', name: 'is on record and in the events as any call is' }],
  },
  {
    id: 'runpath/list-of-a-lost-attempt',
    file: CALLS,
    text: 'WHERE id = :task_id AND EXISTS (SELECT 1 FROM call))',
    replacement: 'WHERE id = :task_id)',
    harm: 'An attempt that was taken for lost replaces the to-do list of its run.',
    tests: [
      { file: 'test/api/fenced-statements.test.ts', name: 'writes nothing of a call after its successor has begun: end with' },
    ],
  },
] satisfies Mutant[];
