import { createHash } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { AttachedFile } from '../../domain/attachments.ts';
import { conflict, notFound } from '../../domain/errors.ts';
import { Prisma, type PrismaClient } from '../../generated/prisma/client.ts';
import { type Queryable, rows } from '../database/database.ts';
import { linkResultFiles, referToAttachments } from './attachments.sql.ts';

interface NewFile {
  name: string;
  media_type: string;
  content: Uint8Array;
  created_by: string;
}

const FACTS = { id: true, name: true, media_type: true, size: true, sha256: true } as const;

const NOUN = 'attachment';

/** Stores files that people give to runs. Each belongs to one principal and is invisible to others. */
export function attachmentStore(prisma: PrismaClient, pool: Queryable) {
  const table = prisma.attachment;

  /** Returns the existing files with these ids, in the order of the ids. */
  async function findInOrder<T extends { id: string }>(
    ids: readonly string[],
    read: (distinct: string[]) => Promise<T[]>,
  ): Promise<T[]> {
    const files_by_id = new Map((await read([...new Set(ids)])).map((file) => [file.id, file]));
    return ids.flatMap((id) => files_by_id.get(id) ?? []);
  }

  return {
    create({ content, ...values }: NewFile): Promise<AttachedFile> {
      const sha256 = createHash('sha256').update(content).digest('hex');
      const data = { ...values, id: uuid(), size: content.length, sha256, content: new Uint8Array(content) };
      return table.create({ data, select: FACTS });
    },
    /** Links the files of a call's result to its task, so that they are kept as long as the task is. */
    linkToResult: (call: CallAttempt, files: readonly AttachedFile[]) => linkFilesOfResult(pool, call, files),
    /** Lists the files that any attempt of a call has linked to its task. */
    listOfResult(call: CallAttempt): Promise<AttachedFile[]> {
      const { task_id, all } = findPlaces(call);
      return table.findMany({ where: { tasks: { some: { task_id, position: all } } }, select: FACTS });
    },
    /** Ends the links of all other attempts of a call if its result is on record; otherwise those of this attempt. */
    async settleResult(call: CallAttempt, is_accepted: boolean): Promise<void> {
      const { task_id, all, own } = findPlaces(call);
      const where = is_accepted ? { task_id, position: all, NOT: { position: own } } : { task_id, position: own };
      await prisma.taskAttachment.deleteMany({ where });
    },
    find: (id: string, created_by: string): Promise<AttachedFile | null> =>
      table.findFirst({ where: { id, created_by }, select: FACTS }),
    /** Returns a file with its content; null if it does not exist or belongs to someone else. */
    read: (id: string, created_by: string) => table.findFirst({ where: { id, created_by }, select: { ...FACTS, content: true } }),
    /** Returns the metadata of these files. Throws `not_found` if one of them does not exist or belongs to another principal. */
    async loadOwned(ids: readonly string[], created_by: string): Promise<AttachedFile[]> {
      const files = await findInOrder(ids, (distinct) =>
        table.findMany({ where: { id: { in: distinct }, created_by }, select: FACTS }),
      );
      const missing_id = ids.find((id) => !files.some((file) => file.id === id));
      if (missing_id) throw notFound(NOUN, missing_id);
      return files;
    },
    /** Returns files of a task with their content. A task refers to its files, so none of them is missing. */
    contents: (ids: readonly string[]) =>
      findInOrder(ids, (distinct) => table.findMany({ where: { id: { in: distinct } }, select: { ...FACTS, content: true } })),
    /** Returns the files of one owner with their content. The others among the ids are left out. */
    contentsOf: (ids: readonly string[], created_by: string) =>
      findInOrder(ids, (distinct) =>
        table.findMany({ where: { created_by, id: { in: distinct } }, select: { ...FACTS, content: true } }),
      ),
    async remove(id: string, created_by: string): Promise<void> {
      try {
        const { count } = await table.deleteMany({ where: { id, created_by } });
        if (count === 0) throw notFound(NOUN, id);
      } catch (error) {
        if (!(error instanceof Prisma.PrismaClientKnownRequestError) || error.code !== 'P2003') throw error;
        throw conflict('A run was given this file; it is deleted with the run', 'attachment_in_use');
      }
    },
  };
}

interface CallAttempt {
  task_id: string;
  step: number;
  position: number;
  attempts: number;
}

/**
 * The positions of the files of one attempt of a call, of one call, and of the calls of one step, among the files of a task. An
 * attempt that was taken for lost must not replace what its successor has linked.
 */
const FILES_OF_ATTEMPT = 25;
const FILES_OF_RESULT = 100;
const FILES_OF_STEP = 100_000;

function findPlaces({ task_id, step, position, attempts }: CallAttempt) {
  const first = step * FILES_OF_STEP + position * FILES_OF_RESULT;
  const own = first + ((attempts * FILES_OF_ATTEMPT) % FILES_OF_RESULT);
  return { task_id, all: { gte: first, lt: first + FILES_OF_RESULT }, own: { gte: own, lt: own + FILES_OF_ATTEMPT } };
}

/** Links the files of an attempt of a call to its task, so that they are kept as long as the task is. */
async function linkFilesOfResult(on: Queryable, call: CallAttempt, files: readonly AttachedFile[]): Promise<void> {
  const { task_id, own } = findPlaces(call);
  await rows(on, linkResultFiles({ task_id, ids: files.map(({ id }) => id), first: own.gte }));
}

/** Links files to a task, in the transaction that created it. Throws `not_found` if one of them was removed in the meantime. */
export async function linkAttachments(on: Queryable, task_id: string, files: readonly AttachedFile[]): Promise<void> {
  const ids = files.map(({ id }) => id);
  const referred = await rows<{ attachment_id: string }>(on, referToAttachments({ task_id, ids }));
  const missing_id = ids.find((id) => !referred.some(({ attachment_id }) => attachment_id === id));
  if (missing_id) throw notFound(NOUN, missing_id);
}
