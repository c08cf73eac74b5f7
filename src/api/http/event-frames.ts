import type { StoredEvent } from '../../domain/events.ts';
import type { FollowedEvent } from '../../events/follow.ts';
import { bytesOfFrame, type LateFrame, type SseFrame } from './sse.ts';

const frameOf = ({ seq, type, data, timestamp }: StoredEvent): SseFrame => ({ id: seq, data: { type, data, timestamp } });

/** Makes frames of events. Streams that receive the same event share its bytes. */
export function sharedFrames() {
  const written = new WeakMap<object, Buffer>();
  const bytesOf = (event: StoredEvent) => {
    const bytes = written.get(event.data) ?? bytesOfFrame(frameOf(event));
    written.set(event.data, bytes);
    return bytes;
  };
  return async function* (events: AsyncIterable<FollowedEvent>): AsyncGenerator<Buffer | LateFrame> {
    for await (const event of events)
      yield 'load' in event ? () => event.load().then((whole) => whole && bytesOf(whole)) : bytesOf(event);
  };
}
