import { expect, it } from 'vitest';
import { followTurns, openConversation, stopTurn } from '../../src/main/conversation/conversation.ts';

/** A conversation with a turn in progress, whose events end when it is asked to stop. */
function busyConversation() {
  const stopped: string[] = [];
  const notes: string[] = [];
  const tasks = {
    async *events() {
      await new Promise(setImmediate);
      if (stopped.length === 0) throw new Error('The turn continues');
      yield* [];
    },
    get: async () => ({ status: 'halted', error: null }),
    stop: async (task_id: string) => void stopped.push(task_id),
  };
  const output = { note: (line: string) => void notes.push(line), write: () => {}, endLine: () => {} };
  const beginning = { client: { tasks }, output, json: true, leave: new AbortController().signal };
  const conversation = openConversation(beginning as never, { thread: { id: 'h', active_task_id: 't' } } as never);
  return { conversation, stopped, notes };
}

it('a turn is stopped as soon as it is known, if Ctrl-C came before', async () => {
  const { conversation, stopped, notes } = busyConversation();
  await stopTurn(conversation);
  expect(stopped).toEqual([]);
  await followTurns(conversation);
  expect(stopped).toEqual(['t']);
  expect(notes).toEqual(['Stopping …', 'The turn was stopped; what was written stays in the thread']);
});

it('a turn that nobody stops continues, also after another was stopped', async () => {
  const { conversation, stopped } = busyConversation();
  await expect(followTurns(conversation)).rejects.toThrow('The turn continues');
  const other = busyConversation();
  other.conversation.open.clear();
  await stopTurn(other.conversation);
  await followTurns(other.conversation);
  expect([other.conversation.is_stopping, other.stopped, stopped]).toEqual([false, [], []]);
});
