import { changes, type RecordChange } from '../../contracts/changes.ts';
import type { ChangeReaders } from '../../events/changes.ts';
import { type Api, mount } from '../http/mount.ts';
import type { SseFrame } from '../http/sse.ts';

export function changeRoutes(api: Api, { changes: readers }: { changes: Pick<ChangeReaders, 'follow'> }): void {
  mount(api, changes.stream, async ({ signal }, caller) => toFrames(readers.follow(caller, signal)));
}

async function* toFrames(reports: AsyncIterable<RecordChange>): AsyncGenerator<SseFrame> {
  for await (const data of reports) yield { data };
}
