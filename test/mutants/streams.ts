import type { Mutant } from './mutant.ts';

const PUBLISHER = 'test/unit/publisher.test.ts';
const CHUNKS = 'test/unit/chat-chunks.test.ts';

const FOLLOW = 'test/unit/follow.test.ts';

export default [
  {
    id: 'streams/one-clock',
    file: 'src/events/publisher.ts',
    text: 'else if (is_first) clock.onTick(sendWaiting);',
    replacement: 'else if (is_first) setTimeout(sendWaiting, clock.pause());',
    harm: 'Each run writes its text by itself: a hundred answers at once keep the database busy with statements.',
    tests: [{ file: PUBLISHER, name: 'is published together with the texts of the other runs' }],
  },
  {
    id: 'streams/pause-by-load',
    file: 'src/events/publisher.ts',
    text: 'due.length * PAUSE_MS_PER_RUN',
    replacement: 'due.length * 0',
    harm: 'With hundreds of answers at once the machine is busy with rows and notifications of two words each, and texts come late.',
    tests: [{ file: PUBLISHER, name: 'is published less often the more runs speak' }],
  },
  {
    id: 'streams/characters-between-packets',
    file: 'src/runtimes/chat-chunks.ts',
    text: 'decoder.decode(value, { stream: true })',
    replacement: 'decoder.decode(value)',
    harm: 'A letter with an accent that arrives in two packets becomes two question marks.',
    tests: [{ file: CHUNKS, name: 'are whole in pieces of one byte' }],
  },
  {
    id: 'streams/error-within',
    file: 'src/runtimes/chat-chunks.ts',
    text: "if (error || event === 'error')",
    replacement: "if (event === 'error')",
    harm: "The provider's error within an answer is lost, and the run fails with a broken-off answer instead.",
    tests: [{ file: CHUNKS, name: 'are those that the client reads' }],
  },
  {
    id: 'streams/last-event',
    file: 'src/runtimes/chat-chunks.ts',
    text: '`${decoder.decode()}\\n\\n`',
    replacement: 'decoder.decode()',
    harm: 'Answers of endpoints that leave out the last empty line are taken for broken off, and paid again.',
    tests: [{ file: CHUNKS, name: 'are those that the client reads' }],
  },
  {
    id: 'streams/refused-answer-goes-on',
    file: 'src/runtimes/chat-chunks.ts',
    text: 'source.cancel(error)',
    replacement: 'source.cancel()',
    harm: 'A model that says too much is still read, and paid, after its answer was refused.',
    tests: [{ file: CHUNKS, name: 'are left with the reason of the failure' }],
  },
  {
    id: 'streams/opened-together',
    file: 'src/events/postgres-bus.ts',
    text: 'for (const workflow_id of channels.names()) channels.notify(workflow_id, MISSED);',
    replacement: "channels.notify(channels.names()[0] ?? '', MISSED);",
    harm: 'Of many streams that begin at once, all but one miss what was written before they were heard.',
    tests: [{ file: 'test/api/grouped-texts.test.ts', name: 'reaches watchers of another process' }],
  },
  {
    id: 'streams/task-of-another-workflow',
    file: 'src/store/runs/events.sql.ts',
    text: 'WHERE id = :task_id AND workflow_id = :workflow_id)',
    replacement: 'WHERE id = :task_id)',
    harm: 'A stream of a task under the wrong workflow stays silent forever instead of being refused.',
    tests: [{ file: 'test/api/no-silence.test.ts', name: 'are right for missing, refused and malformed requests' }],
  },
  {
    id: 'streams/look-that-lasts',
    file: 'src/events/follow.ts',
    text: '      next_extent = null;\n',
    replacement: '',
    harm: 'A stream takes the end of the record at its first look for the end of it all, and misses what follows.',
    tests: [{ file: FOLLOW, name: 'from the moment of the look on, without reading its end again' }],
  },
  {
    id: 'streams/look-before-the-subscription',
    file: 'src/events/follow.ts',
    text: '  const subscription = subscribe(from, place.workflow_id, signal);\n  try {\n    const extent = await look(toReaderPlace(place));',
    replacement:
      '  const extent = await look(toReaderPlace(place));\n  const subscription = subscribe(from, place.workflow_id, signal);\n  try {',
    harm: 'What is published between the first look and the subscription arrives seconds later.',
    tests: [{ file: FOLLOW, name: 'from the moment of the look on, without reading its end again' }],
  },
  {
    id: 'streams/subscription-of-the-refused',
    file: 'src/events/follow.ts',
    text: '    subscription.leave();\n    throw error;',
    replacement: '    throw error;',
    harm: 'Each refused reader leaves a subscription that is served forever.',
    tests: [{ file: FOLLOW, name: 'leaves no subscription of a reader who is refused' }],
  },
  {
    id: 'streams/subscription-of-a-head',
    file: 'src/api/http/reply-ends.ts',
    text: 'over.abort(OVER)',
    replacement: 'raw.writableFinished || over.abort(OVER)',
    harm: 'Each request for the head of a stream leaves a subscription that is served forever.',
    tests: [{ file: 'test/api/readers.test.ts', name: 'leaves no subscription behind' }],
  },
] satisfies Mutant[];
