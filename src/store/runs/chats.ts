import type pg from 'pg';
import type { ChatMessage } from '../../contracts/chat.ts';
import { type ChatTurn, getReplyError, toChatUsage, toReplyId } from '../../domain/chat-turns.ts';
import { DELTAS_KEPT_MS } from '../../domain/pieces.ts';
import { isTerminal } from '../../domain/statuses.ts';
import { row, rows } from '../database/database.ts';
import { wire } from '../database/page.ts';
import * as sql from './chats.sql.ts';

interface SessionRow {
  id: string;
  owner: string;
  /** The workflow in which its turns run. */
  workflow_id: string;
  agent_id: string;
  title: string;
  message_count: number;
  created_at: Date;
  updated_at: Date;
}

interface FollowedOptions {
  question_id?: string | undefined;
  ended: boolean;
}

/** A turn whose reply is followed. */
interface FollowedTurn {
  task_id: string;
  workflow_id: string;
  has_ended: boolean;
  /** False if the pieces of its text may have been removed. */
  has_pieces: boolean;
}

/** Reads chat sessions, which are threads with an agent: a message is the prompt of a turn, its reply what the turn's model has written. */
export function chatStore(pool: pg.Pool) {
  const listIds = async (query: pg.QueryConfig) => (await rows<{ id: string }>(pool, query)).map(({ id }) => id);
  return {
    async find(id: string) {
      const session = await row<SessionRow>(pool, sql.findChat({ id }));
      return session ? wire(session) : null;
    },
    async list(filter: { owner: string; agent_id: string; skip: number; limit: number }) {
      const found = await rows<SessionRow & { total: number }>(pool, sql.listChats(filter));
      const items = found.filter(({ id }) => id !== null).map(({ total: _, ...session }) => wire(session));
      return { items, total: found[0]!.total, next: null };
    },
    /** Returns the messages of a session in order, and the reply in progress: its question, and its text so far. */
    async listMessages(id: string) {
      const turns = await rows<ChatTurn & { is_active: boolean; unfinished: string | null }>(pool, sql.listChatTurns({ id }));
      const active = turns.find((turn) => turn.is_active && !isTerminal(turn.status));
      return {
        messages: turns.flatMap(toMessages),
        reply: active ? { question_id: active.id, content: toTextSoFar(active) } : null,
      };
    },
    async findTurn(task_id: string): Promise<ChatTurn | null> {
      return (await row<ChatTurn>(pool, sql.findChatTurn({ task_id }))) ?? null;
    },
    /** Returns the turn whose reply is in progress; with `ended`, otherwise the last one. With `question_id`, that one or none. */
    async findFollowed(id: string, { question_id, ended }: FollowedOptions): Promise<FollowedTurn | null> {
      const asked = { id, question_id: question_id ?? null, ended, kept_ms: DELTAS_KEPT_MS };
      return (await row<FollowedTurn>(pool, sql.followedTurn(asked))) ?? null;
    },
    /** Lists the turns of a session, or of all with an agent, that have not ended, newest first. */
    listLive: ({ session_id, agent_id }: { session_id?: string; agent_id?: string }) =>
      listIds(sql.liveTurns({ session_id: session_id ?? null, agent_id: agent_id ?? null })),
    /** Lists the workflows of the sessions with an agent. */
    listWorkflows: (agent_id: string) => listIds(sql.workflowsOfChats({ agent_id })),
  };
}

const toTextSoFar = ({ text, unfinished }: { text: string; unfinished: string | null }) =>
  [text, unfinished ?? ''].filter((part) => part !== '').join('\n\n');

function toMessages(turn: ChatTurn): ChatMessage[] {
  const { id, prompt, status, text, truncated, created_at, completed_at } = turn;
  const question = { id, role: 'user' as const, content: prompt, usage: null, truncated: false, error: getReplyError(turn) };
  const asked = { ...question, created_at: created_at.toISOString() };
  if (!isTerminal(status) || text === '') return [asked];
  const reply = {
    id: toReplyId(id),
    role: 'assistant' as const,
    content: text,
    usage: toChatUsage(turn),
    truncated,
    error: null,
  };
  return [asked, { ...reply, created_at: (completed_at ?? created_at).toISOString() }];
}
