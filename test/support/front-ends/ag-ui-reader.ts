import { HttpAgent } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { expect } from 'vitest';
import type { AgUiMessage } from '../../../src/api/compat/ag-ui/messages.ts';
import { encodeFrame, type SseFrame } from '../../../src/api/http/sse.ts';

/** Reads frames as a client of AG-UI does that has these messages. Throws for events that it does not accept. */
export async function readRun(frames: readonly SseFrame[], messages: readonly AgUiMessage[] = []) {
  const parsed = frames.map(({ data }) => EventSchemas.safeParse(data));
  expect(parsed.filter(({ success }) => !success)).toEqual([]);
  const body = Buffer.concat(frames.map(encodeFrame));
  const page = new HttpAgent({
    url: 'http://perdura.example',
    threadId: 'thread-1',
    initialMessages: messages as never,
    fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
  });
  const errors: string[] = [];
  await page.runAgent({}, { onRunErrorEvent: ({ event }) => void errors.push(event.message) });
  return { messages: JSON.parse(JSON.stringify(page.messages)) as AgUiMessage[], interrupts: page.pendingInterrupts, errors };
}
