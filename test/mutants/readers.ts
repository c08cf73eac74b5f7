import type { Mutant } from './mutant.ts';

const BEHIND = { file: 'test/unit/follow.test.ts', name: 'receives every event in order, while little waits for it' };
const SHARED = { file: 'test/unit/follow.test.ts', name: 'share what is read for them' };
const NEWER = { file: 'test/unit/follow.test.ts', name: 'receive what was written after a page was read' };
const CUT = { file: 'test/accidents/stalled.test.ts', name: 'is cut, and what waited for it is dropped' };
const NOT_CUT = {
  file: 'test/accidents/stalled.test.ts',
  name: 'is not cut while it takes something, or while nothing waits for it',
};
const TOO_LARGE = { file: 'test/accidents/stalled.test.ts', name: 'gets its 413 although its client is still sending' };
const LITTLE = { file: 'test/api/readers.test.ts', name: 'cost little while a run streams a long text' };
const TOGETHER = { file: 'test/api/limits-together.test.ts', name: 'refuses a stream when as many are open' };
const CROWDED = { file: 'test/api/crowded.test.ts', name: 'accepts prompts or refuses them at once' };
const V1_REFUSAL = { file: 'test/accidents/outage.test.ts', name: 'prompts are refused and leave nothing' };
const LANES = { file: 'test/api/lanes.test.ts', name: 'runs the tasks of a lane in the order in which they were accepted' };

export default [
  {
    id: 'readers/inbox-bytes',
    file: 'src/domain/mailbox.ts',
    text: 'if (capacity && kept + size > capacity.most) {',
    replacement: 'if (capacity && waiting.length > 1_000) {',
    harm: 'Readers that never read fill the memory of the API until it dies.',
    tests: [BEHIND],
  },
  {
    id: 'readers/counts-back',
    file: 'src/events/follow.ts',
    text: 'account.close();',
    replacement: 'account.add(0);',
    harm: 'The metric of what waits grows indefinitely.',
    tests: [BEHIND],
  },
  {
    id: 'readers/next-page',
    file: 'src/events/follow.ts',
    text: 'more = page.more;',
    replacement: 'more = page.events.length === limit;',
    harm: 'A stream skips what did not fit into a page of the record.',
    tests: [BEHIND],
  },
  {
    id: 'readers/shared-pages',
    file: 'src/events/shared-pages.ts',
    text: 'if (found) return found;',
    replacement: '',
    harm: 'Each of 2,000 readers that fall behind a run reads and parses all of it.',
    tests: [SHARED],
  },
  {
    id: 'readers/shared-page-goes-on',
    file: 'src/events/shared-pages.ts',
    text: 'events: rest, bytes: Math.ceil((bytes * rest.length) / events.length), more: true }',
    replacement: 'events: rest, bytes: Math.ceil((bytes * rest.length) / events.length), more: false }',
    harm: 'A reader gets what was written after a shared page seconds late, or never.',
    tests: [NEWER],
  },
  {
    id: 'readers/shared-after-restore',
    file: 'src/events/shared-pages.ts',
    text: 'if (extent.begin_again_after !== null) {',
    replacement: 'if (extent.begin_again_after === -1) {',
    harm: 'After a restore readers get events that the record no longer has.',
    tests: [NEWER],
  },
  {
    id: 'readers/shared-bytes',
    file: 'src/api/event-frames.ts',
    text: '    written.set(event.data, bytes);\n',
    replacement: '',
    harm: 'Each event is serialised and kept once for each reader.',
    tests: [SHARED],
  },
  {
    id: 'readers/turns',
    file: 'src/events/waiting.ts',
    text: 'if (left > 0) {',
    replacement: 'if (left > -10_000) {',
    harm: 'No request is answered while an event is sent to 2,000 readers.',
    tests: [{ file: 'test/unit/follow.test.ts', name: 'over several turns of the event loop' }],
  },
  {
    id: 'readers/chat-reply',
    file: 'src/chat/replies.ts',
    text: '        unread = [];\n',
    replacement: '',
    harm: 'A chat reply of 60 MB stays in memory for each client that does not read it, and reaches it twice.',
    tests: [{ file: 'test/unit/chat/replies.test.ts', name: 'is kept by the record, not in memory' }],
  },
  {
    id: 'readers/delta-size',
    file: 'src/events/publisher.ts',
    text: 'piecesOfText(batch, DELTA_CHARACTERS)',
    replacement: 'piecesOfText(batch, Number.MAX_SAFE_INTEGER)',
    harm: 'Text that collected while the database was slow is one event of megabytes, which every reader loads by itself.',
    tests: [LITTLE],
  },
  {
    id: 'readers/page-bytes',
    file: 'src/store/statements/events.ts',
    text: 'WHERE before < :bytes ORDER BY seq`;',
    replacement: 'WHERE before < :bytes + 1000000 ORDER BY seq`;',
    harm: 'A page of the record holds hundreds of large events for each reader.',
    tests: [{ file: 'test/api/statements.test.ts', name: 'carries as many as fit into a page' }],
  },
  {
    id: 'readers/large-events',
    file: 'src/store/statements/events.ts',
    text: 'WHEN octet_length(data::text) > :large THEN 0',
    replacement: 'WHEN octet_length(data::text) < 0 THEN 0',
    harm: 'Large events are kept in memory for each reader that does not take them.',
    tests: [{ file: 'test/api/statements.test.ts', name: 'carries as many as fit into a page' }],
  },
  {
    id: 'readers/waits-for-the-socket',
    file: 'src/api/sse.ts',
    text: 'if (raw.writableLength > UNSENT_BYTES) await taken();',
    replacement: 'if (raw.writableLength < 0) await taken();',
    harm: 'The whole record is buffered for a reader that takes nothing.',
    tests: [LITTLE],
  },
  {
    id: 'readers/large-frame-continues',
    file: 'src/api/sse.ts',
    text: 'from += part.length;',
    replacement: 'from += size;',
    harm: 'A client that reads slowly gets a large message with a gap or twice.',
    tests: [LITTLE],
  },
  {
    id: 'readers/stalled-is-cut',
    file: 'src/api/slow-clients.ts',
    text: 'if (taken !== null && taken === before) return response.destroy();',
    replacement: 'if (taken !== null && taken < 0) return response.destroy();',
    harm: 'Connections of clients that are gone stay open with what waits for them.',
    tests: [CUT],
  },
  {
    id: 'readers/idle-is-not-stalled',
    file: 'src/api/slow-clients.ts',
    text: 'const taken = response.writableLength > 0 ? socket.bytesWritten - socket.writableLength : null;',
    replacement: 'const taken = socket.bytesWritten - socket.writableLength;',
    harm: 'A stream ends while its run waits for an approval.',
    tests: [NOT_CUT],
  },
  {
    id: 'readers/lingers',
    file: 'src/api/slow-clients.ts',
    text: 'if (!unread || unread.complete || socket.writableEnded) return close();',
    replacement: 'if (unread || socket.writableEnded) return close();',
    harm: 'A client that sends too much sees a broken connection instead of the reason.',
    tests: [TOO_LARGE],
  },
  {
    id: 'readers/streams-together',
    file: 'src/main/limits.ts',
    text: 'together: config.STREAMS_OPEN }',
    replacement: 'together: 2 * config.STREAMS_OPEN }',
    harm: 'The streams of many users use up the memory together.',
    tests: [TOGETHER],
  },
  {
    id: 'readers/crowded',
    file: 'src/api/crowded.ts',
    text: 'if (!crowded()) return;',
    replacement: 'if (crowded()) return;',
    harm: 'Prompts that come at once wait for a connection until they time out.',
    tests: [CROWDED],
  },
  {
    id: 'readers/when-to-try-again',
    file: 'src/api/problems.ts',
    text: 'retry_after_s = facts.status === 503 ? RETRY_AFTER_S : undefined',
    replacement: 'retry_after_s = undefined',
    harm: 'A client of /v1 does not learn when to try again while the database is unavailable.',
    tests: [V1_REFUSAL],
  },
  {
    id: 'readers/lane-order',
    file: 'src/store/statements/tasks.ts',
    text: ':workflow_title, :model, accepted_tasks,',
    replacement: ':workflow_title, :model, NULL::integer,',
    harm: 'Prompts to one workflow run in another order than they were accepted in.',
    tests: [LANES],
  },
] satisfies Mutant[];
