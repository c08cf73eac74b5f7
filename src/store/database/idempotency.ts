import { v7 as uuid } from 'uuid';
import { AppError, type ErrorKind } from '../../domain/errors.ts';
import { Prisma, type PrismaClient } from '../../generated/prisma/client.ts';

type Claim =
  /**
   * The request has to be served, and its record created under this id. `claim` counts the tries: after the first one, an earlier
   * try with the same id may have created the record, or may still be at work.
   */
  | { kind: 'new'; reserved_id: string; claim: number }
  /** The same request already has a reply. */
  | { kind: 'replay'; reply: unknown }
  /** The key belongs to another request. */
  | { kind: 'mismatch' }
  /** The first request with this key is in progress, or was withdrawn. */
  | { kind: 'busy' };

export type Kept =
  | { kind: 'kept' }
  /** Another server has completed the request in the meantime. */
  | { kind: 'answered'; reply: unknown }
  /** The request's sender has cancelled it. */
  | { kind: 'withdrawn' };

interface KeyOf {
  principal: string;
  key: string;
}

/** The time that a key is kept. */
export const KEPT_MS = 24 * 3_600_000;
/** After this long without a reply, the server of a request counts as dead. */
const LOST_MS = 30_000;

/** Errors of a dependency that may have done its part of the request before it failed. */
const UNCERTAIN: readonly ErrorKind[] = ['unavailable', 'upstream'];

/** Stored in place of the reply. */
const WITHDRAWN = { withdrawn: true };
const isWithdrawn = (reply: unknown) => (reply as Partial<typeof WITHDRAWN> | null)?.withdrawn === true;

export type IdempotencyStore = ReturnType<typeof idempotencyStore>;

export function idempotencyStore(prisma: PrismaClient) {
  const where = ({ principal, key }: KeyOf) => ({ principal_key: { principal, key } });
  const buildUnansweredFilter = ({ principal, key }: KeyOf) => ({ principal, key, reply: { equals: Prisma.DbNull } });
  return {
    async claim({ principal, key }: KeyOf, request_hash: string): Promise<Claim> {
      const now = Date.now();
      await prisma.idempotencyKey.deleteMany({ where: { principal, key, created_at: { lt: new Date(now - KEPT_MS) } } });
      const reserved_id = uuid();
      const data = [{ principal, key, request_hash, reserved_id }];
      const { count } = await prisma.idempotencyKey.createMany({ data, skipDuplicates: true });
      if (count === 1) return { kind: 'new', reserved_id, claim: 1 };
      const entry = await prisma.idempotencyKey.findUnique({ where: where({ principal, key }) });
      if (entry && entry.request_hash !== request_hash) return { kind: 'mismatch' };
      if (!entry || isWithdrawn(entry.reply)) return { kind: 'busy' };
      if (entry.reply !== null) return { kind: 'replay', reply: entry.reply };
      // A time further ahead was written before the clock was set back.
      const lost = { OR: [{ created_at: { lt: new Date(now - LOST_MS) } }, { created_at: { gt: new Date(now + LOST_MS) } }] };
      const unchanged_entry = { principal, key, claims: entry.claims, created_at: entry.created_at };
      const claimed = await prisma.idempotencyKey.updateMany({
        where: { ...unchanged_entry, ...lost },
        data: { created_at: new Date(now), claims: { increment: 1 } },
      });
      return claimed.count === 1 && entry.reserved_id
        ? { kind: 'new', reserved_id: entry.reserved_id, claim: entry.claims + 1 }
        : { kind: 'busy' };
    },
    /** Returns the id reserved for the request's record; null if the key is unused. */
    async reserved({ principal, key }: KeyOf): Promise<string | null> {
      return (await prisma.idempotencyKey.findUnique({ where: where({ principal, key }) }))?.reserved_id ?? null;
    },
    /** Stores the reply of a request, unless it already has one. */
    async keep(key: KeyOf, reply: unknown): Promise<Kept> {
      const data = { reply: reply as Prisma.InputJsonValue };
      const { count } = await prisma.idempotencyKey.updateMany({ where: buildUnansweredFilter(key), data });
      if (count === 1) return { kind: 'kept' };
      const entry = await prisma.idempotencyKey.findUnique({ where: where(key) });
      if (!entry || entry.reply === null) return { kind: 'kept' };
      return isWithdrawn(entry.reply) ? { kind: 'withdrawn' } : { kind: 'answered', reply: entry.reply };
    },
    /** Marks a request in progress as cancelled by its sender; returns false if it already has a reply. */
    async withdraw(key: KeyOf): Promise<boolean> {
      return (await this.keep(key, WITHDRAWN)).kind === 'kept';
    },
    /**
     * Lets a failed request be repeated with its key. If the first try was refused, it created nothing, so its key is deleted.
     * Otherwise the record may exist, so a repetition continues under the same id. Does nothing for a try that another one has
     * overtaken.
     */
    async failed(key: KeyOf, error: unknown, { claim: claims }: { claim: number }): Promise<void> {
      const where = { ...buildUnansweredFilter(key), claims };
      if (claims === 1 && error instanceof AppError && !UNCERTAIN.includes(error.kind))
        await prisma.idempotencyKey.deleteMany({ where });
      else
        await prisma.idempotencyKey.updateMany({
          where,
          data: { created_at: new Date(Date.now() - LOST_MS - 1) },
        });
    },
  };
}
