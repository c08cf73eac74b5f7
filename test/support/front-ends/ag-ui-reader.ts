import { AbstractAgent, type AgentConfig, type BaseEvent } from '@ag-ui/client';
import { EventSchemas } from '@ag-ui/core/schemas';
import { from } from 'rxjs';
import { expect } from 'vitest';
import type { AgUiMessage } from '../../../src/api/compat/ag-ui/messages.ts';
import type { SseFrame } from '../../../src/api/http/sse.ts';

/** A client of AG-UI that gets these frames: it verifies and applies them as it does those of a server. */
class Page extends AbstractAgent {
  readonly frames: readonly SseFrame[];
  constructor(frames: readonly SseFrame[], config: AgentConfig) {
    super(config);
    this.frames = frames;
  }
  run() {
    return from(this.frames.map(({ data }) => data as BaseEvent));
  }
}

/** Reads frames as a client does that has these messages. Throws for events that it does not accept. */
export async function readRun(frames: readonly SseFrame[], messages: readonly AgUiMessage[] = []) {
  const parsed = frames.map(({ data }) => EventSchemas.safeParse(data));
  expect(parsed.filter(({ success }) => !success)).toEqual([]);
  const page = new Page(frames, { threadId: 'thread-1', initialMessages: messages as never });
  const errors: string[] = [];
  await page.runAgent({}, { onRunErrorEvent: ({ event }) => void errors.push(event.message) });
  return { messages: JSON.parse(JSON.stringify(page.messages)) as AgUiMessage[], interrupts: page.pendingInterrupts, errors };
}
