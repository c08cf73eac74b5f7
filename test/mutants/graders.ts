import type { Mutant } from './mutant.ts';

const RULES = 'test/unit/domain/judging.test.ts';
const TESTS = 'test/temporal/evaluation-graders.test.ts';
const BEGINS = 'test/temporal/evaluation-begins.test.ts';

export default [
  {
    id: 'graders/nonsense-fails',
    file: 'src/domain/judging.ts',
    text: "return typeof pass === 'boolean'",
    replacement: "return typeof pass !== 'symbol'",
    harm: 'A judge that talks instead of judging counts as a verdict.',
    tests: [
      { file: RULES, name: 'has neither passed nor failed the answer' },
      { file: TESTS, name: 'that gives no verdict makes its item an error' },
    ],
  },
  {
    id: 'graders/pass-just-missed',
    file: 'src/domain/judging.ts',
    text: 'score >= pass_at',
    replacement: 'score > pass_at',
    harm: 'An answer fails with the very score that was said to be enough.',
    tests: [{ file: TESTS, name: 'gives a score, which passes from `pass_at` on' }],
  },
  {
    id: 'graders/texts-run-together',
    file: 'src/domain/judging.ts',
    text: 'JSON.stringify({ prompt, answer: answer ?? null, expected',
    replacement: 'JSON.stringify({ prompt: `${prompt}\\n${answer}`, expected',
    harm: 'An answer reads like a part of the question, and dictates its grade to the judge.',
    tests: [{ file: RULES, name: 'receives all texts as strings of one JSON object' }],
  },
  {
    id: 'graders/judge-without-budget',
    file: 'src/domain/judging.ts',
    text: '    repository: null,\n    budget,',
    replacement: '    repository: null,\n    budget: null,',
    harm: 'A judge spends more than the workflow may.',
    tests: [{ file: RULES, name: 'within its budget' }],
  },
  {
    id: 'graders/errors-ignored',
    file: 'src/temporal/activities/evaluate.ts',
    text: 'if (faults.length > 0)',
    replacement: 'if (faults.length > graders.length)',
    harm: 'An item passes although a grader never graded it.',
    tests: [{ file: TESTS, name: 'grades by what the tool returns' }],
  },
  {
    id: 'graders/tool-of-anybody',
    file: 'src/api/routes/graders.ts',
    text: 'if (created_by !== caller.key)',
    replacement: "if (created_by === '')",
    harm: 'Code of someone else reads and grades the answers of a person who never saw it.',
    tests: [{ file: TESTS, name: 'and belong to the caller' }],
  },
  {
    id: 'graders/missing-token-unsaid',
    file: 'src/api/routes/evaluations.ts',
    text: 'warn(...(await listGraderWarnings(store, body.graders, caller)));',
    replacement: 'warn(...(await listGraderWarnings(store, [], caller)));',
    harm: 'An evaluation runs for an hour before its first judge lacks a key.',
    tests: [{ file: TESTS, name: 'is reported if its stored token is missing' }],
  },
  {
    id: 'graders/deleted-while-used',
    file: 'src/store/database/uses.ts',
    text: "{ status: 'running', [use.column]",
    replacement: "{ status: 'completed', [use.column]",
    harm: 'A tool is deleted under the evaluation that grades with it.',
    tests: [{ file: TESTS, name: 'cannot be deleted while the evaluation runs' }],
  },
  {
    id: 'graders/judged-again',
    file: 'src/store/runs/evaluations.sql.ts',
    text: 'jsonb_build_object(:grader::text, :work::jsonb) || grading',
    replacement: 'grading || jsonb_build_object(:grader::text, :work::jsonb)',
    harm: 'A lost worker makes an answer be judged, and paid for, twice.',
    tests: [{ file: BEGINS, name: 'a judge is begun once for an answer' }],
  },
  {
    id: 'graders/judge-outlives-the-evaluation',
    file: 'src/store/runs/evaluations.sql.ts',
    text: "WHERE judged.work ? 'task_id'",
    replacement: "WHERE judged.work ? 'task'",
    harm: 'A judge is paid for after its evaluation was halted.',
    tests: [{ file: BEGINS, name: 'and ends with the evaluation' }],
  },
  {
    id: 'graders/tool-among-keys',
    file: 'src/temporal/workflows/evaluation.ts',
    text: "queueOfRole(workflowInfo().taskQueue, 'tools')",
    replacement: "queueOfRole(workflowInfo().taskQueue, 'runs')",
    harm: 'A grading tool runs on a worker that holds the keys of providers.',
    tests: [{ file: 'test/temporal/roles.test.ts', name: 'grade answers with a model and a Python tool' }],
  },
] satisfies Mutant[];
