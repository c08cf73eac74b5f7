import { v7 as uuid } from 'uuid';
import type { Thread } from '../../contracts/threads.ts';
import { conflict, unprocessable } from '../../domain/errors.ts';
import { toThreadTitle } from '../../domain/thread.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { type Database, inTransaction, onlyRow, row, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import * as sql from './threads.sql.ts';

interface ThreadFilter extends Paging {
  owner: string;
  workflow_id?: string | undefined;
  agent_id?: string | undefined;
  pinned?: boolean | undefined;
  q?: string | undefined;
}

interface NewThread {
  /** The id, if one was reserved for the request. */
  id?: string | undefined;
  owner: string;
  owner_login: string;
  workflow_id: string;
  title: string | null;
  metadata: Record<string, string>;
  pinned: boolean;
}

interface ThreadChange {
  title?: string | null | undefined;
  metadata?: Record<string, string> | undefined;
  pinned?: boolean | undefined;
  /** A turn of the thread; the next prompt follows it. */
  head_task_id?: string | undefined;
}

const WITH_AGENT = { include: { workflow: { select: { agent: { select: { id: true, name: true } } } } } } as const;
type ThreadRow = Prisma.ThreadGetPayload<typeof WITH_AGENT>;

/** Stores threads. The caller checks who may see them; tasks join them as they are created. */
export function threadStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  /** Returns the title that a thread has if nobody gives it one; null: it has no message yet. */
  async function findFirstTitle(thread_id: string): Promise<string | null> {
    const where = { thread_id, thread_turn: 1 };
    const first = await prisma.task.findFirst({ where, orderBy: { id: 'asc' }, select: { prompt: true } });
    return (first && toThreadTitle(first.prompt)) || null;
  }

  return {
    list({ owner, workflow_id, agent_id, pinned, q, ...paging }: ThreadFilter) {
      const where: Prisma.ThreadWhereInput = {
        owner,
        ...(workflow_id ? { workflow_id } : {}),
        ...(agent_id ? { workflow: { agent_id } } : {}),
        ...(pinned === undefined ? {} : { pinned }),
        ...(q ? { title: { contains: q, mode: 'insensitive' } } : {}),
      };
      return listPage(prisma.thread, { where, paging, toItem: toThread, more: WITH_AGENT });
    },
    async find(id: string) {
      const thread = await prisma.thread.findUnique({ where: { id }, ...WITH_AGENT });
      return thread && toThread(thread);
    },
    create: async ({ id = uuid(), ...values }: NewThread) =>
      toThread(await prisma.thread.create({ data: { id, ...values }, ...WITH_AGENT })),
    /** Throws if the head is to change while a turn is in progress, or to a turn that is not in the thread. */
    async update(id: string, data: ThreadChange) {
      const { head_task_id } = data;
      if (head_task_id && (await prisma.task.count({ where: { id: head_task_id, thread_id: id } })) === 0)
        throw unprocessable([{ path: 'head_task_id', message: `No turn of this thread has the id ${head_task_id}` }]);
      const where = head_task_id ? { id, active_task_id: null } : { id };
      const values = data.title === null ? { ...data, title: await findFirstTitle(id) } : data;
      const { count } = await prisma.thread.updateMany({ where, data: values as Prisma.ThreadUpdateInput });
      if (count === 0 && head_task_id)
        throw conflict(
          'A turn of this thread is in progress or waits; halt it first, or wait until it has ended',
          'thread_running',
        );
      return toThread(await prisma.thread.findUniqueOrThrow({ where: { id }, ...WITH_AGENT }));
    },
    /** Makes a thread of which an ended task is the first turn, unless it is in one. Returns the thread's id. */
    async beginAt(task_id: string): Promise<string> {
      return (await onlyRow<{ thread_id: string }>(pool, sql.beginThreadAt({ task_id }))).thread_id;
    },
    /** Deletes a thread with its turns. Throws while one of them is in progress. */
    async remove(id: string): Promise<void> {
      await inTransaction(pool, async (on) => {
        const removed_thread = await row<{ task_ids: string[] }>(on, sql.removeThread({ id }));
        if (!removed_thread) throw conflict('A turn of this thread is in progress or waits; halt it first', 'thread_running');
        await rows(on, sql.removeEventsOfTasks({ task_ids: removed_thread.task_ids }));
      });
    },
  };
}

const toThread = ({ workflow, accepted_tasks: _count, newest_interrupt: _newest, ...thread }: ThreadRow) => ({
  ...wireAs<Omit<Thread, 'agent_id' | 'agent_name'>>()(thread),
  owner: thread.owner,
  agent_id: workflow?.agent.id ?? null,
  agent_name: workflow?.agent.name ?? null,
});
