import type { Mutant } from './mutant.ts';

const CONTRACT = 'test/api/contract.test.ts';
const DESCRIPTION = 'test/unit/contracts/description.test.ts';
const EVENT_SOURCE = 'test/api/event-source.test.ts';

export default [
  {
    id: 'descriptions/undeclared-conflict',
    file: 'src/contracts/tasks.ts',
    text: '    status: 202,\n    refuses: [403, 409, 503],',
    replacement: '    status: 202,\n    refuses: [403, 503],',
    harm: 'A generated client has no type for the refusal to stop a run that has ended.',
    tests: [{ file: CONTRACT, name: 'describes every status that it answered' }],
  },
  {
    id: 'descriptions/undeclared-host',
    file: 'src/api/service/openapi.ts',
    text: '...describeProblems([403, 421, 422])',
    replacement: '...describeProblems([403, 422])',
    harm: 'Nobody learns from the description why a health check by another name is refused.',
    tests: [{ file: CONTRACT, name: 'describes every status that it answered' }],
  },
  {
    id: 'descriptions/limit',
    file: 'src/contracts/memories.ts',
    text: '.min(1).max(500)',
    replacement: '.min(1).max(50)',
    harm: 'A memory with a key of two words is refused.',
    tests: [{ file: DESCRIPTION, name: 'has limits that leave room' }],
  },
  {
    id: 'descriptions/example',
    file: 'src/contracts/custom-tools.ts',
    text: "example: { API_KEY: { token_name: 'weather-key',",
    replacement: "example: { 'API-KEY': { token_name: 'weather-key',",
    harm: 'A request with the example from /docs is refused.',
    tests: [{ file: DESCRIPTION, name: 'fits its schema' }],
  },
  {
    id: 'descriptions/unnamed-type',
    file: 'src/contracts/custom-tools.ts',
    text: ".meta({ id: 'ToolRunResult' })",
    replacement: '.meta({})',
    harm: 'A generated client has no name for the result of a tool.',
    tests: [{ file: DESCRIPTION, name: 'has named types for what it takes and returns' }],
  },
  {
    id: 'descriptions/operation-twice',
    file: 'src/contracts/custom-tools.ts',
    text: "operation: 'set_env_mapping'",
    replacement: "operation: 'get_env_mapping'",
    harm: 'A generated client loses one of two operations with the same name.',
    tests: [{ file: DESCRIPTION, name: 'has its own name' }],
  },
  {
    id: 'descriptions/event-source-resumes',
    file: 'src/api/http/mount.ts',
    text: "request.headers['last-event-id']",
    replacement: "request.headers['x-last-event-id']",
    harm: 'After a lost connection a page shows everything that it has shown already.',
    tests: [{ file: EVENT_SOURCE, name: 'is resumed by the EventSource after a lost connection' }],
  },
  {
    id: 'descriptions/event-source-frames',
    file: 'src/api/http/sse.ts',
    text: "typeof data === 'string' ? data : JSON.stringify(data)",
    replacement: "typeof data === 'string' ? data : JSON.stringify(data, null, 1)",
    harm: 'A page cannot read the events, whose JSON ends with its first line.',
    tests: [{ file: EVENT_SOURCE, name: 'is read as the record has it' }],
  },
  {
    id: 'descriptions/warnings-of-reading',
    file: 'src/api/service/openapi.ts',
    text: 'endpoints.filter(carriesWarnings)',
    replacement: "endpoints.filter((one) => one.method !== 'GET' && carriesWarnings(one))",
    harm: 'A client that validates answers refuses what a query is warned about.',
    tests: [{ file: 'test/unit/contracts/description.test.ts', name: 'may carry warnings about its request' }],
  },
  {
    id: 'descriptions/refused-keys',
    file: 'src/api/service/openapi.ts',
    text: '...(idempotent ? [400, 409] : []),\n',
    replacement: '',
    harm: 'A generated client does not know the answer to an Idempotency-Key that was used before.',
    tests: [{ file: 'test/unit/contracts/description.test.ts', name: 'may be that its Idempotency-Key' }],
  },
  {
    id: 'descriptions/boundless-scores',
    file: 'src/contracts/scores.ts',
    text: '.max(FARTHEST)',
    replacement: '',
    harm: 'Two large scores make the scores of a workflow unreadable.',
    tests: [
      { file: 'test/unit/contracts/description.test.ts', name: 'has an upper limit' },
      { file: 'test/api/scores.test.ts', name: 'the mean of the largest numbers' },
    ],
  },
] satisfies Mutant[];
