import { v7 as uuid } from 'uuid';
import type { ChatMessage } from '../contracts/chat.ts';
import type { ChatMessage as MessageRow, PrismaClient } from '../generated/prisma/client.ts';
import { wire, wireAs } from './page.ts';

export interface ChatUsage {
  prompt_tokens: number;
  completion_tokens: number;
}

export interface Question {
  /** The id, if one was reserved for the request. An existing message with this id counts as this one. */
  id?: string | undefined;
  session_id?: string | undefined;
  agent_id: string;
  owner: string;
  content: string;
}

const TITLE_CHARACTERS = 80;
const titleOf = (message: string) => [...message.trim()].slice(0, TITLE_CHARACTERS).join('').trim();

export type ChatStore = ReturnType<typeof chatStore>;

export function chatStore(prisma: PrismaClient) {
  /** Messages are ordered by their times, so a later one has a later time, also after the clock was set back. */
  const nextTime = async (session_id: string): Promise<Date> => {
    const { _max } = await prisma.chatMessage.aggregate({ where: { session_id }, _max: { created_at: true } });
    return new Date(Math.max(Date.now(), (_max.created_at?.getTime() ?? 0) + 1));
  };
  const append = async (session_id: string, message: { id: string; role: string; content: string; usage?: ChatUsage }) => {
    const { usage, ...rest } = message;
    const created_at = await nextTime(session_id);
    return prisma.$transaction([
      prisma.chatMessage.create({ data: { ...rest, ...usage, session_id, created_at } }),
      prisma.chatSession.update({ where: { id: session_id }, data: { message_count: { increment: 1 } } }),
    ]);
  };
  return {
    async find(id: string) {
      const found = await prisma.chatSession.findUnique({ where: { id } });
      return found && wire(found);
    },
    async list({ owner, agent_id, skip, limit }: { owner: string; agent_id: string; skip: number; limit: number }) {
      const where = { owner, agent_id };
      const [found, total] = await Promise.all([
        prisma.chatSession.findMany({ where, orderBy: { id: 'desc' }, skip, take: limit }),
        prisma.chatSession.count({ where }),
      ]);
      return { items: found.map(wire), total, next: null };
    },
    /** Oldest first. */
    async messages(session_id: string) {
      const found = await prisma.chatMessage.findMany({ where: { session_id }, orderBy: [{ created_at: 'asc' }, { id: 'asc' }] });
      return found.map(wiredMessage);
    },
    async message(id: string) {
      const found = await prisma.chatMessage.findUnique({ where: { id } });
      return found && wiredMessage(found);
    },
    /** Stores a message, once per id, and returns its session. Without a session, creates one titled by the message's beginning. */
    async ask({ id = uuid(), session_id, agent_id, owner, content }: Question): Promise<string> {
      const known = await prisma.chatMessage.findUnique({ where: { id }, select: { session_id: true } });
      if (known) return known.session_id;
      const message = { id, role: 'user', content };
      if (session_id !== undefined) {
        await append(session_id, message);
        return session_id;
      }
      const session = { id: uuid(), agent_id, owner, title: titleOf(content), message_count: 1 };
      await prisma.chatSession.create({ data: { ...session, messages: { create: message } } });
      return session.id;
    },
    async answer(session_id: string, { id, content, usage }: { id: string; content: string; usage: ChatUsage }): Promise<void> {
      await append(session_id, { id, role: 'assistant', content, usage });
    },
    /** Records that a person stopped the reply of a session. */
    async noteStop(id: string): Promise<void> {
      await prisma.chatSession.updateMany({ where: { id }, data: { stops: { increment: 1 } } });
    },
    /** How often the replies of sessions were stopped; deleted sessions are missing. */
    async stops(ids: string[]): Promise<Map<string, number>> {
      const found = await prisma.chatSession.findMany({ where: { id: { in: ids } }, select: { id: true, stops: true } });
      return new Map(found.map(({ id, stops }) => [id, stops]));
    },
    async remove(id: string): Promise<void> {
      await prisma.chatSession.deleteMany({ where: { id } });
    },
  };
}

function wiredMessage({ prompt_tokens, completion_tokens, ...row }: MessageRow) {
  const usage =
    row.role === 'assistant' ? { prompt_tokens: prompt_tokens ?? 0, completion_tokens: completion_tokens ?? 0 } : null;
  return { ...wireAs<ChatMessage>()(row), usage };
}
