import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'forks/equal-calls',
    file: 'src/domain/fork.ts',
    text: '?? equal.at(-1)',
    replacement: '?? equal[0]',
    harm: 'A fork that repeats a call more often than its source gets the first answer, not the last.',
    tests: [{ file: 'test/unit/fork-rules.test.ts', name: 'gets its last result once the record is used up' }],
  },
  {
    id: 'forks/writes',
    file: 'src/domain/fork.ts',
    text: "call.effect === 'write' ?",
    replacement: "call.effect === 'idempotent' ?",
    harm: 'A fork sends an e-mail again.',
    tests: [{ file: 'test/unit/fork-rules.test.ts', name: 'refuses a write that is not on record' }],
  },
  {
    id: 'forks/stubs',
    file: 'src/domain/fork.ts',
    text: "if (effects === 'stub') return",
    replacement: "if (effects === 'live') return",
    harm: 'A fork under stub calls tools.',
    tests: [{ file: 'test/unit/fork-rules.test.ts', name: 'calls nothing under stub' }],
  },
  {
    id: 'forks/spellings',
    file: 'src/domain/fork.ts',
    text: 'canonicalJsonText(a.arguments) === canonicalJsonText(b.arguments)',
    replacement: 'false',
    harm: 'A fork whose model orders its arguments otherwise repeats the call.',
    tests: [{ file: 'test/unit/fork-rules.test.ts', name: 'knows equal arguments in any spelling' }],
  },
  {
    id: 'forks/cost',
    file: 'src/store/runs/forks.sql.ts',
    text: `INSERT INTO task_steps (task_id, step, model, finish, started_at, ended_at)
    SELECT :fork_id::uuid, step, model, finish, started_at, ended_at FROM`,
    replacement: `INSERT INTO task_steps (task_id, step, model, finish, started_at, ended_at, total_in)
    SELECT :fork_id::uuid, step, model, finish, started_at, ended_at, total_in FROM`,
    harm: 'The steps that a fork copies count as paid for twice.',
    tests: [{ file: 'test/temporal/forks.test.ts', name: 'starts with the messages that the model got before the step' }],
  },
] satisfies Mutant[];
