import { createInterface } from 'node:readline';
import { followTurns, openConversation, send, stopTurn, type TerminalChat } from './conversation.ts';
import { plainOutput } from './screen.ts';
import type { Choice } from './threads.ts';

const INTERRUPTED = 130;

/** A conversation without a terminal: each line of stdin is a message, sent when the turn before it has ended. */
export async function talkByLines(client: TerminalChat['client'], choice: Choice, json: boolean): Promise<TerminalChat> {
  const leaving = new AbortController();
  const conversation = openConversation({ client, output: plainOutput, json, leave: leaving.signal }, choice);
  // The output has the answers to these lines, and to none that was asked before.
  conversation.open.clear();
  const lines = createInterface({ input: process.stdin });
  let is_interrupted = false;
  const interrupt = () => {
    if (is_interrupted) leaving.abort();
    is_interrupted = true;
    lines.close();
    void stopTurn(conversation);
  };
  process.on('SIGINT', interrupt);
  try {
    for await (const message of lines) {
      if (is_interrupted) break;
      if (!message.trim()) continue;
      await send(conversation, { message, attachments: [], when_busy: 'enqueue' });
      await followTurns(conversation);
    }
  } catch (error) {
    if (!leaving.signal.aborted) throw error;
  } finally {
    process.off('SIGINT', interrupt);
    lines.close();
  }
  if (is_interrupted) process.exitCode = INTERRUPTED;
  else if (conversation.has_failed) process.exitCode = 1;
  return conversation;
}
