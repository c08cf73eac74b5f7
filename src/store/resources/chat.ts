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

/** The reply to a question as the record has it. */
export interface ReplyState {
  /** True if a process is writing it or waiting to. */
  writing: boolean;
  /** The parts that were asked for, as they were written together. */
  deltas: { parts: string[] }[];
  answer: (Pick<ChatMessage, 'id' | 'usage' | 'truncated'> & { characters: number }) | null;
  /** The reason why there will be no answer. */
  error: string | null;
}

const LOST = 'The server that wrote the reply was lost before the reply ended. Send the message again.';

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
  const endReplying = (id: string, reply_error: string | null) =>
    prisma.chatMessage.updateMany({ where: { id }, data: { reply_until: null, reply_error } });
  const append = async (session_id: string, message: NewMessage) => {
    const { usage, ...rest } = message;
    const created_at = await nextTime(session_id);
    return prisma.$transaction([
      prisma.chatMessage.create({ data: { ...rest, ...usage, session_id, created_at } }),
      message.question_id ? endReplying(message.question_id, null) : startReplying(message.id),
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
    /** Records that a question gets no reply, and why. */
    async endReplying(id: string, error: string): Promise<void> {
      await endReplying(id, error);
    },
    /** Keeps parts of a reply in progress, of which `first` is the number of the first. Repeating it keeps nothing twice. */
    async addParts(question_id: string, first: number, parts: string[]): Promise<void> {
      await rowsWithin(prisma, sql.addReplyParts({ question_id, first, parts }));
    },
    async removeParts(question_ids: string[]): Promise<void> {
      await prisma.chatPart.deleteMany({ where: { question_id: { in: question_ids } } });
    },
    /** Returns the reply to a question with its parts from number `next` on; null: the question no longer exists. */
    async readReply(question_id: string, next: number): Promise<ReplyState | null> {
      const [row] = await rowsWithin<ReplyRow>(prisma, sql.readReply({ question_id, next }));
      if (!row) return null;
      const { writing, error, answer_id, characters, deltas, truncated, ...counts } = row;
      const answer = answer_id ? { id: answer_id, usage: toUsage(counts), truncated, characters } : null;
      return { writing, error: error ?? (writing || answer ? null : LOST), answer, deltas: deltas.map((parts) => ({ parts })) };
    },
    /**
     * Returns the question whose reply is in progress, the first one of the session; with `ended`, otherwise the last one whose
     * parts are still kept. With `question_id`, that question or none.
     */
    async findFollowed(session_id: string, { question_id = null, ended = false }: FollowedOptions = {}): Promise<string | null> {
      const [row] = await rowsWithin<{ id: string }>(prisma, sql.followedQuestion({ session_id, question_id, ended }));
      return row?.id ?? null;
    },
    /** Returns the messages of a session, and the reply in progress: its question, and its text so far. */
    async talk(session_id: string) {
      // In this order, a reply that ends in between is among the messages.
      const question_id = await this.findFollowed(session_id);
      const state = question_id === null ? null : await this.readReply(question_id, 1);
      const messages = await this.messages(session_id);
      const content = state?.deltas.flatMap(({ parts }) => parts).join('') ?? '';
      return { messages, reply: state?.writing ? { question_id: question_id!, content } : null };
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

interface FollowedOptions {
  question_id?: string | null | undefined;
  ended?: boolean;
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

interface Counts {
  prompt_tokens: number | null;
  completion_tokens: number | null;
  estimated: boolean;
}

interface ReplyRow extends Counts {
  writing: boolean;
  error: string | null;
  answer_id: string | null;
  truncated: boolean;
  characters: number;
  deltas: string[][];
}

const toUsage = ({ prompt_tokens, completion_tokens, estimated }: Counts) => ({
  prompt_tokens: prompt_tokens ?? 0,
  completion_tokens: completion_tokens ?? 0,
  ...(estimated ? { estimated } : {}),
});

function toChatMessage({ prompt_tokens, completion_tokens, estimated, reply_error, ...row }: MessageRow) {
  const usage = row.role === 'assistant' ? toUsage({ prompt_tokens, completion_tokens, estimated }) : null;
  const is_lost = row.reply_until !== null && row.reply_until.getTime() < Date.now();
  return { ...wireAs<ChatMessage>()({ ...row, error: reply_error ?? (is_lost ? LOST : null) }), usage };
}
