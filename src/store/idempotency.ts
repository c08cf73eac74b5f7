import { v7 as uuid } from 'uuid';
import { AppError } from '../domain/errors.ts';
import { Prisma, type PrismaClient } from '../generated/prisma/client.ts';

type Claim =
  /** The request is to be served; what it makes has this id, also when it is taken up again after its server was lost. */
  | { kind: 'new'; reserved_id: string }
  /** The same request was answered before. */
  | { kind: 'replay'; reply: unknown }
  /** The key was used for another request. */
  | { kind: 'mismatch' }
  /** The first request with this key is still being served, or was withdrawn meanwhile. */
  | { kind: 'busy' };

export type Kept =
  | { kind: 'kept' }
  /** Somebody took the request up meanwhile, and has answered it. */
  | { kind: 'answered'; reply: unknown }
  /** Its sender wants it no more. */
  | { kind: 'withdrawn' };

interface KeyOf {
  principal: string;
  key: string;
}

const KEPT_MS = 24 * 3_600_000;
/** A request that has had no answer for so long has lost its server. */
const LOST_MS = 30_000;

/** Stands where a reply would. */
const WITHDRAWN = { withdrawn: true };
const isWithdrawn = (reply: unknown) => (reply as Partial<typeof WITHDRAWN> | null)?.withdrawn === true;

export type IdempotencyStore = ReturnType<typeof idempotencyStore>;

export function idempotencyStore(prisma: PrismaClient) {
  const where = ({ principal, key }: KeyOf) => ({ principal_key: { principal, key } });
  const unanswered = ({ principal, key }: KeyOf) => ({ principal, key, reply: { equals: Prisma.DbNull } });
  return {
    async claim({ principal, key }: KeyOf, request_hash: string): Promise<Claim> {
      const now = Date.now();
      await prisma.idempotencyKey.deleteMany({ where: { principal, key, created_at: { lt: new Date(now - KEPT_MS) } } });
      const reserved_id = uuid();
      const data = [{ principal, key, request_hash, reserved_id }];
      const { count } = await prisma.idempotencyKey.createMany({ data, skipDuplicates: true });
      if (count === 1) return { kind: 'new', reserved_id };
      const known = await prisma.idempotencyKey.findUnique({ where: where({ principal, key }) });
      if (known && known.request_hash !== request_hash) return { kind: 'mismatch' };
      if (!known || isWithdrawn(known.reply)) return { kind: 'busy' };
      if (known.reply !== null) return { kind: 'replay', reply: known.reply };
      const lost = { principal, key, created_at: { equals: known.created_at, lt: new Date(now - LOST_MS) } };
      const taken = await prisma.idempotencyKey.updateMany({ where: lost, data: { created_at: new Date(now) } });
      return taken.count === 1 && known.reserved_id ? { kind: 'new', reserved_id: known.reserved_id } : { kind: 'busy' };
    },
    /** Forgets keys older than a day. */
    async expire(): Promise<void> {
      await prisma.idempotencyKey.deleteMany({ where: { created_at: { lt: new Date(Date.now() - KEPT_MS) } } });
    },
    /** The id that was reserved for what the request makes; null for a key nobody used. */
    async reserved({ principal, key }: KeyOf): Promise<string | null> {
      return (await prisma.idempotencyKey.findUnique({ where: where({ principal, key }) }))?.reserved_id ?? null;
    },
    /** Keeps the reply of a request, unless it has one. */
    async keep(key: KeyOf, reply: unknown): Promise<Kept> {
      const data = { reply: reply as Prisma.InputJsonValue };
      const { count } = await prisma.idempotencyKey.updateMany({ where: unanswered(key), data });
      if (count === 1) return { kind: 'kept' };
      const known = await prisma.idempotencyKey.findUnique({ where: where(key) });
      if (!known || known.reply === null) return { kind: 'kept' };
      return isWithdrawn(known.reply) ? { kind: 'withdrawn' } : { kind: 'answered', reply: known.reply };
    },
    /** Says of a request under way that its sender wants it no more; false when it was answered before. */
    async withdraw(key: KeyOf): Promise<boolean> {
      return (await this.keep(key, WITHDRAWN)).kind === 'kept';
    },
    /**
     * Lets a request that failed be sent again with its key. One that was refused has made nothing and is forgotten; of any other
     * that is not known, so whoever repeats it takes it up under the same id.
     */
    async failed(key: KeyOf, error: unknown): Promise<void> {
      if (error instanceof AppError) await prisma.idempotencyKey.deleteMany({ where: unanswered(key) });
      else
        await prisma.idempotencyKey.updateMany({
          where: unanswered(key),
          data: { created_at: new Date(Date.now() - LOST_MS - 1) },
        });
    },
  };
}
