import type { Mutant } from './mutant.ts';

const EXACT = { file: 'test/api/usage.test.ts', name: 'is exactly what the tasks say' };
const OWN = { file: 'test/api/usage.test.ts', name: "is one's own; everybody's is for administrators" };

const UNUSABLE = { file: 'test/temporal/runs.test.ts', name: 'counts what an answer cost' };

export default [
  {
    id: 'usage/unusable-answers-are-free',
    file: 'src/runtimes/usable-reply.ts',
    text: 'new ModelFailure(message, { code, recoverable, answer: reply })',
    replacement: 'new ModelFailure(message, { code, recoverable })',
    harm: 'A run whose answers are filtered or empty costs nothing on record, while the provider charges for each.',
    tests: [UNUSABLE, { file: 'test/runtimes/chat-completions.test.ts', name: ', with what it costs' }],
  },
  {
    id: 'usage/refused-calls-are-free',
    file: 'src/runtimes/bounded.ts',
    text: '          answer = reply;\n',
    replacement: '',
    harm: 'An answer with a call that is refused costs nothing on record.',
    tests: [{ file: 'test/temporal/runs.test.ts', name: 'counts what an answer cost' }],
  },
  {
    id: 'usage/failed-steps-miss-in-the-task',
    file: 'src/store/statements/runs.ts',
    text: 'UPDATE tasks SET ${SPENT}, model = coalesce(tasks.model, :model) WHERE',
    replacement: 'UPDATE tasks SET model = coalesce(tasks.model, :model) WHERE',
    harm: 'A budget allows calls beyond it after answers that could not be used.',
    tests: [UNUSABLE],
  },
  {
    id: 'usage/a-retry-replaces-what-was-paid',
    file: 'src/store/statements/runs.ts',
    text: 'finish = :finish, error = NULL, ${SPENT}',
    replacement: 'finish = :finish, error = NULL, total_in = :total_in, total_out = :total_out, cost = :cost',
    harm: 'Alerts on spending miss what was paid for an attempt that broke off.',
    tests: [{ file: 'test/temporal/runs.test.ts', name: 'counts an answer that broke off' }],
  },
  {
    id: 'usage/summaries-miss-in-steps',
    file: 'src/store/statements/pauses.ts',
    text: '      UPDATE task_steps SET ${SPENT} WHERE',
    replacement: '      UPDATE task_steps SET cost = cost WHERE',
    harm: 'Alerts on spending and usage by model miss what summaries cost.',
    tests: [{ file: 'test/temporal/settings.test.ts', name: 'compacts older rounds when the window fills' }],
  },
  {
    id: 'usage/memories-miss-in-steps',
    file: 'src/store/statements/runs.ts',
    text: '      UPDATE task_steps SET ${SPENT} WHERE task_id = :task_id AND EXISTS (SELECT 1 FROM run)',
    replacement: '      UPDATE task_steps SET cost = cost WHERE task_id = :task_id AND EXISTS (SELECT 1 FROM run)',
    harm: 'Alerts on spending and usage by model miss what a search for facts cost.',
    tests: [{ file: 'test/temporal/context.test.ts', name: 'adds what that cost' }],
  },
  {
    id: 'usage/useless-searches-for-facts-are-free',
    file: 'src/temporal/activities/remember.ts',
    text: 'if (error instanceof ModelFailure && error.answer) await paid(error.answer);',
    replacement: '',
    harm: 'A search for facts that the model leaves unanswered costs nothing on record.',
    tests: [{ file: 'test/temporal/context.test.ts', name: 'completes a run whose facts cannot be had' }],
  },
  {
    id: 'usage/unusable-answers-miss-in-metrics',
    file: 'src/observe/measured.ts',
    text: '        if (error instanceof ModelFailure && error.answer) answered(error.answer);\n',
    replacement: '',
    harm: 'The board of tokens and cost misses answers that could not be used.',
    tests: [{ file: 'test/temporal/worker-port.test.ts', name: 'counts runs, models, tools' }],
  },
  {
    id: 'usage/of-everybody',
    file: 'src/store/statements/usage.ts',
    text: 'FROM usage_runs WHERE hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR owner = :owner::text)',
    replacement:
      'FROM usage_runs WHERE hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR true)',
    harm: 'Every user sees what everybody spends.',
    tests: [OWN],
  },
  {
    id: 'usage/calls-of-everybody',
    file: 'src/store/statements/usage.ts',
    text: 'WHERE kind = :kind AND hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR owner = :owner::text)',
    replacement:
      'WHERE kind = :kind AND hour >= :from::timestamptz AND hour < :to::timestamptz AND (:owner::text IS NULL OR true)',
    harm: "A user sees the names of other users' tools.",
    tests: [OWN],
  },
  {
    id: 'usage/everybody-without-administrator',
    file: 'src/api/usage.ts',
    text: "if (scope === 'all' && !is_admin)",
    replacement: "if (scope === 'all' && false)",
    harm: 'Anybody reads the usage of everybody.',
    tests: [OWN],
  },
  {
    id: 'usage/not-counted-before-reading',
    file: 'src/api/usage.ts',
    text: '    await store.count();\n',
    replacement: '',
    harm: 'What was spent in the last minute is missing.',
    tests: [EXACT],
  },
  {
    id: 'usage/counted-twice',
    file: 'src/store/statements/usage.ts',
    text: 'SET usage_counted = true',
    replacement: 'SET usage_counted = (t.id IS NULL)',
    harm: 'Every look at the usage doubles what was spent.',
    tests: [{ file: 'test/api/usage.test.ts', name: 'counts each task once' }],
  },
  {
    id: 'usage/each-evaluated-item-is-a-group',
    file: 'prisma/functions/add_usage.sql',
    text: 'coalesce(e.workflow_id, CASE',
    replacement: 'coalesce(NULL, CASE',
    harm: 'Usage by workflow has a row and a colour for each item of a dataset, all with the same name.',
    tests: [{ file: 'test/api/usage.test.ts', name: 'counts runs of an evaluation for the workflow that is evaluated' }],
  },
] satisfies Mutant[];
