import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'reconciler/halts-for-patient-prompts',
    file: 'src/temporal/repair/reconcile-tasks.ts',
    text: "else if (holder && on_busy === 'interrupt')",
    replacement: 'else if (holder)',
    harm: 'Every minute the run in progress is halted because another one waits behind it.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'a run in progress and the one that waits behind it' }],
  },
  {
    id: 'reconciler/lost-interrupts',
    file: 'src/temporal/repair/reconcile-tasks.ts',
    text: "else if (holder && on_busy === 'interrupt') await engine.halt(holder);",
    replacement: '',
    harm: 'An urgent prompt whose server died waits for hours.',
    tests: [
      { file: 'test/temporal/reconciler-neighbours.test.ts', name: 'repeats the halt of an interrupt that was not delivered' },
    ],
  },
  {
    id: 'reconciler/no-grace',
    file: 'src/temporal/repair/reconcile-tasks.ts',
    text: 'const tasks = await store.tasks.listUnfinished(grace_span);',
    replacement: 'const tasks = await store.tasks.listUnfinished(toGraceSpan(now(), 0));',
    harm: 'A prompt that is only just being started is started twice, or fails with run_lost.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'a task whose run is only just being started' }],
  },
  {
    id: 'reconciler/no-grace-for-ends',
    file: 'src/temporal/repair/reconcile-tasks.ts',
    text: 'const over = await store.tasks.over(batch, grace_span);',
    replacement: 'const over = await store.tasks.over(batch, toGraceSpan(new Date(0)));',
    harm: 'A run is terminated between its last event and its webhook.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'an execution whose task ended a moment ago' }],
  },
  {
    id: 'reconciler/lost-messages',
    file: 'src/temporal/repair/reconcile-tasks.ts',
    text: 'for (const delivery of await store.webhooks.pending()) await ports.engine.deliver(delivery);',
    replacement: '',
    harm: 'A webhook message whose worker died is never sent.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'delivers one that no delivery is in progress for' }],
  },
  {
    id: 'reconciler/undecided-calls',
    file: 'src/store/runs/tasks.sql.ts',
    text: "c.status LIKE 'waiting%' AND c.decision IS NOT NULL",
    replacement: "c.status LIKE 'waiting%' AND c.decision IS NULL",
    harm: 'A decision that its run missed is never delivered.',
    tests: [{ file: 'test/temporal/reconciler-neighbours.test.ts', name: 'a call that nobody has decided about' }],
  },
] satisfies Mutant[];
