import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { RecordChange } from '../../../src/contracts/changes.ts';

/** Follows the changes that a person may see, from the moment at which the stream is open. */
export async function followChanges(url: string, token: string) {
  const leaving = new AbortController();
  const answer = await fetch(`${url}/api/changes`, { headers: { authorization: `Bearer ${token}` }, signal: leaving.signal });
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
  const seen: RecordChange[] = [];
  const frames = answer.body!.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  const ended = (async () => {
    for await (const { data } of frames) seen.push(JSON.parse(data));
  })().catch(() => {});
  return {
    seen,
    /** Resolves when the stream has ended, by whomever. */
    ended,
    async leave() {
      leaving.abort();
      await ended;
    },
  };
}
