import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'reconciler/halts-for-patient-prompts',
    file: 'src/temporal/reconcile-tasks.ts',
    text: "else if (holder && on_busy === 'interrupt')",
    replacement: 'else if (holder)',
    harm: 'Every minute the run in progress is halted because another one waits behind it.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'a run in progress and the one that waits behind it' }],
  },
  {
    id: 'reconciler/lost-interrupts',
    file: 'src/temporal/reconcile-tasks.ts',
    text: "else if (holder && on_busy === 'interrupt') await engine.halt(holder);",
    replacement: '',
    harm: 'An urgent prompt whose server died waits for hours.',
    tests: [
      { file: 'test/temporal/reconciler-neighbours.test.ts', name: 'repeats the halt of an interrupt that was not delivered' },
    ],
  },
  {
    id: 'reconciler/no-grace',
    file: 'src/temporal/reconcile-tasks.ts',
    text: 'const tasks = await store.tasks.unfinished(settled);',
    replacement: 'const tasks = await store.tasks.unfinished(now());',
    harm: 'A prompt that is only just being started is started twice, or fails with run_lost.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'a task whose run is only just being started' }],
  },
  {
    id: 'reconciler/no-grace-for-ends',
    file: 'src/temporal/reconcile-tasks.ts',
    text: 'const over = await store.tasks.over(batch, settled);',
    replacement: 'const over = await store.tasks.over(batch, new Date(Date.now() + 86_400_000));',
    harm: 'A run is terminated between its last event and its webhook.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'an execution whose task ended a moment ago' }],
  },
  {
    id: 'reconciler/lost-messages',
    file: 'src/temporal/reconcile-tasks.ts',
    text: 'for (const delivery_id of await store.webhooks.pending()) await ports.engine.deliver(delivery_id);',
    replacement: '',
    harm: 'A webhook message whose worker died is never sent.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'delivers one that no delivery is in progress for' }],
  },
  {
    id: 'reconciler/kept-keys',
    file: 'src/temporal/reconcile-tasks.ts',
    text: 'await store.idempotency.expire();',
    replacement: '',
    harm: 'Idempotency keys are kept forever.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'deletes idempotency keys older than a day' }],
  },
  {
    id: 'reconciler/kept-deltas',
    file: 'src/temporal/reconcile-tasks.ts',
    text: 'await store.events.trimDeltas(new Date(now().getTime() - DELTAS_KEPT_MS));',
    replacement: '',
    harm: 'The table of events grows without end.',
    tests: [
      { file: 'test/temporal/reconciler-neighbours.test.ts', name: 'deletes deltas of runs that ended more than a day ago' },
    ],
  },
  {
    id: 'reconciler/deltas-of-live-runs',
    file: 'src/store/statements/events.ts',
    text: ` AND task_id IN (
    SELECT id FROM tasks WHERE completed_at IS NOT NULL AND completed_at < :before)`,
    replacement: '',
    harm: 'The page of a long run misses its text so far.',
    tests: [
      { file: 'test/temporal/reconciler-neighbours.test.ts', name: 'deletes deltas of runs that ended more than a day ago' },
    ],
  },
  {
    id: 'reconciler/undecided-calls',
    file: 'src/store/statements/tasks.ts',
    text: "c.status LIKE 'waiting%' AND c.decision IS NOT NULL",
    replacement: "c.status LIKE 'waiting%' AND c.decision IS NULL",
    harm: 'A decision that its run missed is never delivered.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'a call that nobody has decided about' }],
  },
] satisfies Mutant[];
