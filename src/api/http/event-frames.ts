import type { FollowedEvent } from '../../events/follow.ts';
import type { StoredEvent } from '../../events/task-events.ts';
import { encodeFrame, type LateFrame, type SseFrame } from './sse.ts';

const toFrame = ({ seq, type, data, timestamp }: StoredEvent): SseFrame => ({ id: seq, data: { type, data, timestamp } });

/** Encodes events as frames. Streams that receive the same event share its bytes. */
export function createSharedFrames() {
  const bytes_by_event = new WeakMap<object, Buffer>();
  const toBytes = (event: StoredEvent) => {
    const bytes = bytes_by_event.get(event.data) ?? encodeFrame(toFrame(event));
    bytes_by_event.set(event.data, bytes);
    return bytes;
  };
  return async function* (events: AsyncIterable<FollowedEvent>): AsyncGenerator<Buffer | LateFrame> {
    for await (const event of events)
      yield 'load' in event ? () => event.load().then((whole) => whole && toBytes(whole)) : toBytes(event);
  };
}
