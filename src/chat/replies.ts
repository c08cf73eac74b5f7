import type { Caller } from '../api/auth.ts';
import type { Agent } from '../contracts/agents.ts';
import type { ChatEvent } from '../contracts/chat.ts';
import { mailbox } from '../domain/mailbox.ts';
import { storable } from '../domain/transcript.ts';
import type { ChatStore } from '../store/chat.ts';

interface ChatTurn {
  agent: Agent;
  caller: Caller;
  session_id: string;
  /** The id that the reply will be stored under. */
  message_id: string;
}

interface ChatAnswer {
  text: string;
  usage: { prompt_tokens: number; completion_tokens: number };
}

/** Asks the agent's model. Text is emitted as it comes; throws a sentence when the provider failed. */
export type AskModel = (
  turn: ChatTurn,
  history: { role: string; content: string }[],
  hear: { emit: (delta: string) => void; signal: AbortSignal },
) => Promise<ChatAnswer>;

export interface ChatReplies {
  /** Begins a reply; it is finished and stored whether or not anyone listens to the end. */
  start(turn: ChatTurn): AsyncIterable<ChatEvent>;
  /** Breaks off the replies of a session that this process is writing. What was said so far is stored as the reply. */
  stop(session_id: string): void;
  /** Gives replies under way `grace_ms` to end, then breaks them off. */
  close(grace_ms: number): Promise<void>;
}

export function chatReplies({ store, ask }: { store: Pick<ChatStore, 'messages' | 'answer'>; ask: AskModel }): ChatReplies {
  const closing = new AbortController();
  const underway = new Map<Promise<void>, { session_id: string; stopping: AbortController }>();

  async function reply(turn: ChatTurn, tell: (event: ChatEvent) => void, stopped: AbortSignal): Promise<void> {
    const { session_id, message_id } = turn;
    let said = '';
    const emit = (content: string) => {
      said += content;
      tell({ type: 'delta', content });
    };
    const settle = async ({ text, usage }: ChatAnswer) => {
      await store.answer(session_id, { id: message_id, content: storable(text), usage });
      tell({ type: 'done', usage, message_id });
    };
    try {
      const history = await store.messages(session_id);
      const signal = AbortSignal.any([closing.signal, stopped]);
      await settle(await ask(turn, history, { emit, signal }).catch((error: Error) => stoppedAt(said, stopped, error)));
    } catch (error) {
      tell({ type: 'error', message: (error as Error).message });
    }
  }

  return {
    start(turn) {
      const events = mailbox<ChatEvent>();
      events.put({ type: 'session', session_id: turn.session_id });
      const stopping = new AbortController();
      const work = reply(turn, events.put, stopping.signal).finally(() => {
        events.end();
        underway.delete(work);
      });
      underway.set(work, { session_id: turn.session_id, stopping });
      return events.read();
    },
    stop(session_id) {
      for (const one of underway.values()) if (one.session_id === session_id) one.stopping.abort();
    },
    async close(grace_ms) {
      const timer = setTimeout(() => closing.abort(new Error('The service is being stopped')), grace_ms);
      await Promise.all(underway.keys());
      clearTimeout(timer);
    },
  };
}

/** What stands as the reply when a person stopped it; its use is not known, since the model was not heard to its end. */
function stoppedAt(text: string, stopped: AbortSignal, error: Error): ChatAnswer {
  if (!stopped.aborted) throw error;
  if (!text) throw new Error('The reply was stopped before the model said anything');
  return { text, usage: { prompt_tokens: 0, completion_tokens: 0 } };
}
