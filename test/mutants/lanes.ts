import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'lanes/decision-of-another-run',
    file: 'src/store/runs/tool-ledger.sql.ts',
    text: 'WHERE task_id = :task_id AND call_id = :call_id AND status = ANY (:waits::text[]) AND decision IS NULL',
    replacement: 'WHERE call_id = :call_id AND status = ANY (:waits::text[]) AND decision IS NULL',
    harm: 'Approving a call approves the calls of the same number in all waiting runs.',
    tests: [{ file: 'test/temporal/several-at-once.test.ts', name: 'get each its own decision' }],
  },
  {
    id: 'lanes/two-decisions',
    file: 'src/store/runs/tool-ledger.sql.ts',
    text: 'AND status = ANY (:waits::text[]) AND decision IS NULL',
    replacement: 'AND status = ANY (:waits::text[])',
    harm: 'A call that was denied is made after all, by a second click.',
    tests: [{ file: 'test/temporal/several-at-once.test.ts', name: 'take one of two decisions that are made at the same time' }],
  },
  {
    id: 'lanes/interrupts',
    file: 'src/temporal/start/dispatch.ts',
    text: '        .then(() => halt(holder))\n',
    replacement: '',
    harm: 'An urgent prompt waits until the run in progress has ended.',
    tests: [{ file: 'test/temporal/several-at-once.test.ts', name: 'overtakes the queue' }],
  },
  {
    id: 'lanes/interrupted-not-queued',
    file: 'src/temporal/start/dispatch.ts',
    text: 'const queued = holder !== task_id;',
    replacement: 'const queued = false && holder !== task_id;',
    harm: 'Two runs of a workflow are in progress at once.',
    tests: [{ file: 'test/temporal/several-at-once.test.ts', name: 'overtakes the queue' }],
  },
] satisfies Mutant[];
