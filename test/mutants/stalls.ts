import type { Mutant } from './mutant.ts';

const SILENT = 'src/store/silent-connections.ts';
const CONNECTIONS = 'test/api/silent-connections.test.ts';
const RELAY = 'src/temporal/engine-relay.ts';
const RELAYED = 'test/temporal/engine-relay.test.ts';
const TEXTS = 'test/api/grouped-texts.test.ts';

export default [
  {
    id: 'stalls/never-asked',
    file: SILENT,
    text: 'return !working.has(client.backend);',
    replacement: 'return false;',
    harm: 'A connection that falls silent stalls its run or stream until the time limit of the statement.',
    tests: [{ file: CONNECTIONS, name: 'fails a statement that the server never got' }],
  },
  {
    id: 'stalls/slow-is-not-silent',
    file: SILENT,
    text: 'return !working.has(client.backend);',
    replacement: 'return true;',
    harm: 'A slow database loses its connections, and every statement that takes half a second fails.',
    tests: [{ file: CONNECTIONS, name: 'waits for a statement on which the server works' }],
  },
  {
    id: 'stalls/idle-siblings',
    file: SILENT,
    text: 'if (silent.length > 0) dropIdle();',
    replacement: '',
    harm: 'The retry takes the next silent connection of the pool, and the one after it another.',
    tests: [{ file: CONNECTIONS, name: 'replaces the connections that are idle' }],
  },
  {
    id: 'stalls/no-answer-proves-nothing',
    file: SILENT,
    text: 'working && isLost(client, wait as Wait, working)',
    replacement: 'isLost(client, wait as Wait, working ?? new Set())',
    harm: 'A database that stands still for a second loses all connections of all processes, which connect again at once.',
    tests: [{ file: CONNECTIONS, name: 'leaves a statement to its time limit' }],
  },
  {
    id: 'stalls/late-text',
    file: 'src/store/statements/runs.ts',
    text: ':attempt, :after, :event) AS last',
    replacement: ':attempt, :after + 1000000, :event) AS last',
    harm: 'Text whose answer was lost appears twice in the stream.',
    tests: [{ file: TEXTS, name: 'has the number of its first sending' }],
  },
  {
    id: 'stalls/text-taken-for-earlier-text',
    file: 'src/temporal/activities/exchange/begin.ts',
    text: 'last = number ?? giveWay(stale);',
    replacement: 'last ||= number ?? giveWay(stale);',
    harm: 'Text is taken for the piece before it, and lost.',
    tests: [{ file: 'test/temporal/silent-peers.test.ts', name: 'while the connection that events come by is silent' }],
  },
  {
    id: 'stalls/text-held-until-the-end',
    file: 'src/temporal/activities/exchange/begin.ts',
    text: 'await written(() => ports.runs.publishText(run, text), signal)',
    replacement: 'await ports.runs.publishText(run, text)',
    harm: 'After a connection of a worker has broken, readers wait for the end of the answer, and get all of it again.',
    tests: [{ file: 'test/temporal/outage.test.ts', name: 'prompts are refused, text of the model is not lost' }],
  },
  {
    id: 'stalls/silent-engine-kept',
    file: RELAY,
    text: 'relay.drop();',
    replacement: '',
    harm: 'A worker whose connection to Temporal falls silent stands still for almost a minute.',
    tests: [{ file: RELAYED, name: 'replaces a silent connection' }],
  },
  {
    id: 'stalls/slow-engine-dropped',
    file: RELAY,
    text: ' && (await engineAnswers(options)) && probe.is_open',
    replacement: '',
    harm: 'A Temporal that is slow for some seconds loses the connections of all its workers, and the work it has just given out.',
    tests: [{ file: RELAYED, name: 'keeps its connection to an engine that does not answer' }],
  },
  {
    id: 'stalls/open-relay',
    file: RELAY,
    text: "headers['proxy-authorization'] !== expected",
    replacement: 'false',
    harm: 'Every process of the machine reaches Temporal through the worker.',
    tests: [{ file: RELAYED, name: 'serves nobody without its password' }],
  },
  {
    id: 'stalls/process-kept-by-a-silent-connection',
    file: 'src/store/silent-connections.ts',
    text: 'for (const client of open) client.unref();',
    replacement: '',
    harm: 'A worker whose connection has fallen silent does not end on SIGTERM: the deploy hangs until it is killed.',
    tests: [{ file: 'test/api/silent-connections.test.ts', name: 'lets the process end although the server does not answer' }],
  },
] satisfies Mutant[];
