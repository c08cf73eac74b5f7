import type { Mutant } from './mutant.ts';

const CALLS = 'src/store/runs/tool-ledger.sql.ts';

export default [
  {
    id: 'runpath/slots-not-respected',
    file: 'src/temporal/worker/slots.ts',
    text: 'set ?? Math.ceil(',
    replacement: 'Math.ceil(',
    harm: 'A worker on a small machine takes more steps at once than its operator allowed.',
    tests: [{ file: 'test/temporal/slots.test.ts', name: 'takes no more steps at once than WORKER_MAX_ACTIVITIES' }],
  },
  {
    id: 'runpath/few-slots',
    file: 'src/temporal/worker/slots.ts',
    text: 'set ?? Math.ceil(countFittingSlots() /',
    replacement: 'set ?? Math.ceil(100 /',
    harm: 'Half of 200 people who write at once wait until the other half has its answers.',
    tests: [{ file: 'test/temporal/slots.test.ts', name: 'lets many more runs wait for their models at once' }],
  },
  {
    id: 'runpath/tools-written-by-themselves',
    file: 'src/temporal/activities/exchange/begin.ts',
    text: 'first ? await buildKnownTools(work, outer) : null',
    replacement: 'first && order.tools_off ? await buildKnownTools(work, outer) : null',
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
    text: 'events: [...pending_events, ...progress, ended,',
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
    tests: [{ file: 'test/api/fenced-statements.test.ts', name: 'writes nothing of a call after its successor has begun' }],
  },
  {
    id: 'runpath/key-of-a-step-not-begun',
    file: 'src/main/wiring/runs/index.ts',
    text: '      await begun;\n',
    replacement: '',
    harm: 'A key is on record as used by attempts that did not begin the step.',
    tests: [{ file: 'test/temporal/key-uses.test.ts', name: 'an attempt that did not get its step uses no key' }],
  },
  {
    id: 'runpath/key-not-granted-is-sent',
    file: 'src/store/secrets/tokens.ts',
    text: "if (token.verdict !== 'granted') throw tokenRefusal(request, token);",
    replacement: '',
    harm: 'A key is sent to an address that its owner did not grant it to.',
    tests: [{ file: 'test/temporal/grants.test.ts', name: 'changes the destination, until its owner saves it again' }],
  },
] satisfies Mutant[];
