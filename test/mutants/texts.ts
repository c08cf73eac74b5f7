import type { Mutant } from './mutant.ts';

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
    file: 'src/events/postgres-bus.ts',
    text: 'channels.notify(channelOf(text.workflow_id), text);',
    replacement: 'channels.notify(channelOf(textsOf(payload)[0]?.workflow_id ?? ""), text);',
    harm: 'The words of one run appear in the stream of another.',
    tests: [{ file: TEXTS, name: 'reaches watchers over Postgres' }],
  },
  {
    id: 'texts/silent-with-redis',
    file: 'src/store/database.ts',
    text: '...(notifies ? {} :',
    replacement: '...(notifies || true ? {} :',
    harm: 'With Redis every event takes a lock of the whole database for a notification that nobody receives.',
    tests: [{ file: TEXTS, name: 'is silent in Postgres where another bus announces' }],
  },
] satisfies Mutant[];
