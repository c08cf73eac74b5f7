import { readUIMessageStream, type UIMessage, type UIMessageChunk, uiMessageChunkSchema } from 'ai';
import { expect } from 'vitest';
import type { SseFrame } from '../../../src/api/http/sse.ts';

export const toFileUrl = ({ id }: { id: string }) => `https://perdura.example/api/attachments/${id}/content`;

export async function listFrames(frames: AsyncIterable<SseFrame>): Promise<SseFrame[]> {
  const list: SseFrame[] = [];
  for await (const frame of frames) list.push(frame);
  return list;
}

/** Returns the chunks of these frames. Each must fit the schema by which the client of the AI SDK parses it. */
export async function listChunks(frames: readonly SseFrame[]): Promise<UIMessageChunk[]> {
  const { validate } = uiMessageChunkSchema();
  const parsed = await Promise.all(frames.filter(({ data }) => data !== '[DONE]').map(({ data }) => validate!(data)));
  expect(parsed.filter(({ success }) => !success)).toEqual([]);
  return parsed.flatMap((one) => (one.success ? [one.value] : []));
}

export interface ReadMessage {
  message: UIMessage | undefined;
  errors: string[];
}

/** Reads frames as the client does. `message`: the message that they continue. */
export async function readMessage(frames: readonly SseFrame[], message?: UIMessage): Promise<ReadMessage> {
  const errors: string[] = [];
  const stream = ReadableStream.from(await listChunks(frames));
  const states = readUIMessageStream({
    stream,
    ...(message ? { message: structuredClone(message) } : {}),
    onError: (error) => errors.push((error as Error).message),
  });
  let last = message;
  for await (const state of states) last = state;
  return { message: last && (JSON.parse(JSON.stringify(last)) as UIMessage), errors };
}
