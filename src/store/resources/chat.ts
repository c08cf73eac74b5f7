import { v7 as uuid } from 'uuid';
import type { ChatMessage } from '../../contracts/chat.ts';
import type { ChatMessage as MessageRow, PrismaClient } from '../../generated/prisma/client.ts';
import { rowsWithin } from '../database/database.ts';
import { wire, wireAs } from '../database/page.ts';
import * as sql from './chat.sql.ts';

export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
  /** True if a part was not reported, but estimated; absent: false. */
  estimated?: boolean | undefined;
}

export interface Question {
  /** An existing message with this id counts as this one. */
  id?: string | undefined;
  session_id?: string | undefined;
  agent_id: string;
  owner: string;
  content: string;
}

/** The number of seconds for which a question counts as being replied to after its process last renewed it. */
const REPLYING_SECONDS = 15;

const TITLE_CHARACTERS = 80;
const toTitle = (message: string) => [...message.trim()].slice(0, TITLE_CHARACTERS).join('').trim();

export type ChatStore = ReturnType<typeof chatStore>;

export function chatStore(prisma: PrismaClient) {
  /**
   * Returns a time later than that of every stored message, even if the clock was set back: messages are ordered by their times.
   */
  const nextTime = async (session_id: string): Promise<Date> => {
    const { _max } = await prisma.chatMessage.aggregate({ where: { session_id }, _max: { created_at: true } });
    return new Date(Math.max(Date.now(), Number(_max.created_at) + 1));
  };
  const startReplying = (id: string) => rowsWithin(prisma, sql.startReplying({ id, seconds: REPLYING_SECONDS }));
  const endReplying = (id: string) => prisma.chatMessage.updateMany({ where: { id }, data: { reply_until: null } });
  const append = async (session_id: string, message: NewMessage) => {
    const { usage, ...rest } = message;
    const created_at = await nextTime(session_id);
    return prisma.$transaction([
      prisma.chatMessage.create({ data: { ...rest, ...usage, session_id, created_at } }),
      message.question_id ? endReplying(message.question_id) : startReplying(message.id),
      prisma.chatSession.update({ where: { id: session_id }, data: { message_count: { increment: 1 } } }),
    ]);
  };
  return {
    async find(id: string) {
      const session = await prisma.chatSession.findUnique({ where: { id } });
      return session && wire(session);
    },
    async list({ owner, agent_id, skip, limit }: { owner: string; agent_id: string; skip: number; limit: number }) {
      const where = { owner, agent_id };
      const [sessions, total] = await Promise.all([
        prisma.chatSession.findMany({ where, orderBy: { id: 'desc' }, skip, take: limit }),
        prisma.chatSession.count({ where }),
      ]);
      return { items: sessions.map(wire), total, next: null };
    },
    /** Returns the messages of a session, oldest first, each reply after its question. */
    async messages(session_id: string) {
      const messages = await prisma.chatMessage.findMany({
        where: { session_id },
        orderBy: [{ created_at: 'asc' }, { id: 'asc' }],
      });
      return pairReplies(messages).map(toChatMessage);
    },
    async message(id: string) {
      const message = await prisma.chatMessage.findUnique({ where: { id } });
      return message && toChatMessage(message);
    },
    /** Stores a message, once per id, and returns its session. Without a session, creates one titled by the message's beginning. */
    async ask({ id = uuid(), session_id, agent_id, owner, content }: Question): Promise<string> {
      const existing = await prisma.chatMessage.findUnique({ where: { id }, select: { session_id: true } });
      if (existing) return existing.session_id;
      const message = { id, role: 'user', content };
      if (session_id !== undefined) {
        await append(session_id, message);
        return session_id;
      }
      const session = { id: uuid(), agent_id, owner, title: toTitle(content), message_count: 1 };
      await prisma.$transaction([
        prisma.chatSession.create({ data: { ...session, messages: { create: message } } }),
        startReplying(id),
      ]);
      return session.id;
    },
    async answer(
      session_id: string,
      reply: { id: string; question_id: string; content: string; usage: ChatUsage; truncated?: boolean },
    ): Promise<void> {
      await append(session_id, { role: 'assistant', ...reply });
    },
    /** Records that questions are still being replied to. */
    async keepReplying(question_ids: string[]): Promise<void> {
      await rowsWithin(prisma, sql.keepReplying({ ids: question_ids, seconds: REPLYING_SECONDS }));
    },
    /** Records that a question gets no reply. */
    async endReplying(id: string): Promise<void> {
      await endReplying(id);
    },
    /** True if an earlier question of the session is still being replied to. */
    async isBehindAnother(session_id: string, question_id: string): Promise<boolean> {
      const [result] = await rowsWithin<{ behind: boolean }>(prisma, sql.behindAnother({ session_id, question_id }));
      return result!.behind;
    },
    /** Records that a person stopped the reply of a session. */
    async noteStop(id: string): Promise<void> {
      await prisma.chatSession.updateMany({ where: { id }, data: { stops: { increment: 1 } } });
    },
    /** Returns how often the replies of sessions were stopped. Deleted sessions are missing. */
    async stops(ids: string[]): Promise<Map<string, number>> {
      const sessions = await prisma.chatSession.findMany({ where: { id: { in: ids } }, select: { id: true, stops: true } });
      return new Map(sessions.map(({ id, stops }) => [id, stops]));
    },
    async remove(id: string): Promise<void> {
      await prisma.chatSession.deleteMany({ where: { id } });
    },
  };
}

interface NewMessage {
  id: string;
  role: string;
  content: string;
  usage?: ChatUsage;
  truncated?: boolean;
  question_id?: string;
}

/**
 * Puts each reply after its question. If two questions are asked at once, the reply to the first may be stored after the second.
 */
function pairReplies(messages: MessageRow[]): MessageRow[] {
  const ids = new Set(messages.map(({ id }) => id));
  const isReply = ({ question_id }: MessageRow) => question_id !== null && ids.has(question_id);
  const replies = Map.groupBy(messages.filter(isReply), ({ question_id }) => question_id);
  return messages.filter((message) => !isReply(message)).flatMap((message) => [message, ...(replies.get(message.id) ?? [])]);
}

function toChatMessage({ prompt_tokens, completion_tokens, estimated, ...row }: MessageRow) {
  const counts = { prompt_tokens: prompt_tokens ?? 0, completion_tokens: completion_tokens ?? 0 };
  const usage = row.role === 'assistant' ? { ...counts, ...(estimated ? { estimated } : {}) } : null;
  return { ...wireAs<ChatMessage>()(row), usage };
}
