import type { Mutant } from './mutant.ts';

const HERE = 'test/temporal/mcp-questions.test.ts';
const WAITS = {
  file: HERE,
  name: 'makes the run wait for its owner, whose answer must fit and is kept only while the call runs',
};

export default [
  {
    id: 'questions/answers-kept',
    file: 'src/store/statements/tool-ledger.ts',
    text: 'question = NULL, answers = NULL',
    replacement: 'question = NULL',
    harm: 'What a person answered stays in the record after the call has ended.',
    tests: [WAITS],
  },
  {
    id: 'questions/answer-not-checked',
    file: 'src/api/tasks.ts',
    text: 'const faults = answerFaults(schema, content ?? {});',
    replacement: 'const faults: ReturnType<typeof answerFaults> = [];',
    harm: 'A server gets what its form does not allow.',
    tests: [WAITS],
  },
  {
    id: 'questions/another-question',
    file: 'src/api/tasks.ts',
    text: 'if (waiting?.question?.id !== question_id) throw notAsked(call_id);',
    replacement: 'if (!waiting?.question) throw notAsked(call_id);',
    harm: 'The answer to an earlier question is refused for what a later one asks.',
    tests: [WAITS],
  },
  {
    id: 'questions/answer-in-log',
    file: 'src/api/tasks.ts',
    text: '{ call_id, question_id, outcome, by: login }',
    replacement: '{ call_id, question_id, outcome, by: login, content: answer.content }',
    harm: 'Everyone who reads the log of a run reads what its owner answered.',
    tests: [WAITS],
  },
  {
    id: 'questions/asked-again',
    file: 'src/temporal/activities/questions.ts',
    text: 'if (known) return take(known);',
    replacement: '',
    harm: 'A person is asked again what was answered before the worker was lost.',
    tests: [{ file: HERE, name: 'an idempotent call is repeated, and takes the answer that was given meanwhile' }],
  },
  {
    id: 'questions/one-connection',
    file: 'src/tools/mcp/pool.ts',
    text: 'if (own !== shared && connection.asked())',
    replacement: 'if (own !== shared && false)',
    harm: 'While one run is asked, the questions of all other runs of its owner are refused.',
    tests: [{ file: HERE, name: 'asks each of two runs of one owner, over a connection for each' }],
  },
  {
    id: 'questions/clock-runs',
    file: 'src/tools/mcp/call-clock.ts',
    text: 'if (pauses === 0) stop();',
    replacement: '',
    harm: 'A call is given up after two minutes although a person is still asked.',
    tests: [{ file: 'test/unit/call-clock.test.ts', name: 'stands still while a person is asked' }],
  },
  {
    id: 'questions/never-expires',
    file: 'src/temporal/activities/questions.ts',
    text: "left <= 0 ? 'expired' : null",
    replacement: 'null',
    harm: 'A question that nobody answers occupies a slot of its worker for a day.',
    tests: [{ file: HERE, name: 'answers with a cancel when nobody has answered in time' }],
  },
  {
    id: 'questions/one-owner-takes-all',
    file: 'src/temporal/activities/questions.ts',
    text: 'all >= most || own >= most_of_one',
    replacement: 'all >= most',
    harm: 'The questions of one owner leave no place for those of others.',
    tests: [{ file: 'test/unit/question-places.test.ts', name: 'those of one owner a quarter of these' }],
  },
] satisfies Mutant[];
