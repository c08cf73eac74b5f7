import type { Mutant } from './mutant.ts';

const BUS = 'src/events/postgres-bus.ts';
const TEXTS = 'test/api/grouped-texts.test.ts';

export default [
  {
    id: 'texts/refused-in-a-batch',
    file: 'src/store/grouped-texts.ts',
    text: 'if (last === undefined) void writeAlone(one);',
    replacement: 'if (last === undefined) one.resolve(true);',
    harm: 'Text of a run that was locked for a moment is lost, and a worker that was replaced continues to speak.',
    tests: [
      { file: TEXTS, name: 'refuses in a batch what it refuses alone' },
      { file: TEXTS, name: 'lets no locked task hold up the others' },
    ],
  },
  {
    id: 'texts/outage-of-a-batch',
    file: 'src/store/grouped-texts.ts',
    text: 'outageOf(error) ? one.reject(error) : void writeAlone(one)',
    replacement: 'void writeAlone(one)',
    harm: 'After an outage texts are written twice: nobody knows whether the first time succeeded.',
    tests: [{ file: TEXTS, name: 'an outage fails every text of the batch' }],
  },
  {
    id: 'texts/one-by-one',
    file: 'src/store/grouped-texts.ts',
    text: 'const batch = waiting.slice(0, MOST);\n      waiting = waiting.slice(MOST);',
    replacement: 'const batch = waiting.slice(0, 1);\n      waiting = waiting.slice(1);',
    harm: 'Many answers that are spoken at once fall seconds behind.',
    tests: [{ file: TEXTS, name: 'writes the texts of many runs in few statements' }],
  },
  {
    id: 'texts/notices-of-others',
    file: BUS,
    text: 'channels.notify(workflow_id, notice);',
    replacement: 'channels.notify(channels.names()[0] ?? workflow_id, notice);',
    harm: 'The words of one run appear in the stream of another.',
    tests: [{ file: TEXTS, name: 'reaches watchers of another process' }],
  },
  {
    id: 'texts/own-notices-twice',
    file: BUS,
    text: 'else if (processId !== own) for',
    replacement: 'else for',
    harm: 'Every event is parsed again by the process that wrote it.',
    tests: [{ file: TEXTS, name: 'reaches watchers of the same process at once, and once' }],
  },
  {
    id: 'texts/own-notices-late',
    file: BUS,
    text: '      channels.notify(workflow_id, { ...notice, bytes: whole.length });\n',
    replacement: '',
    harm: 'Readers of the process that wrote an event see it when they look into the record, seconds later.',
    tests: [{ file: TEXTS, name: 'reaches watchers of the same process at once, and once' }],
  },
  {
    id: 'texts/a-notification-each',
    file: BUS,
    text: 'const LARGEST_PACKET = 7_900;',
    replacement: 'const LARGEST_PACKET = 300;',
    harm: 'Every text costs a notification, and a lock of the whole database.',
    tests: [{ file: TEXTS, name: 'takes few notifications' }],
  },
  {
    id: 'texts/too-large-a-packet',
    file: 'src/events/notice.ts',
    text: 'if (size + bytes > most) {',
    replacement: 'if (packets.length === 0) {',
    harm: 'What many runs said at once is not announced: their readers see it seconds later.',
    tests: [{ file: TEXTS, name: 'reaches watchers of another process' }],
  },
  {
    id: 'texts/missed-before-listening',
    file: BUS,
    text: 'for (const workflow_id of channels.names()) channels.notify(workflow_id, MISSED);',
    replacement: '',
    harm: 'What is written while a stream begins, or while its connection is replaced, is seen seconds later.',
    tests: [{ file: 'test/temporal/bus.test.ts', name: 'notifies listeners of possibly missed events' }],
  },
] satisfies Mutant[];
