import { v7 as uuid } from 'uuid';
import { Prisma, type PrismaClient } from '../generated/prisma/client.ts';

export type Claim =
  /** The request is to be served; what it makes has this id, also when it is taken up again after its server was lost. */
  | { kind: 'new'; reserved_id: string }
  /** The same request was answered before. */
  | { kind: 'replay'; reply: unknown }
  /** The key was used for another request. */
  | { kind: 'mismatch' }
  /** The first request with this key is still being served, or was withdrawn meanwhile. */
  | { kind: 'busy' };

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
    async keep(key: KeyOf, reply: unknown): Promise<void> {
      await prisma.idempotencyKey.update({ where: where(key), data: { reply: reply as Prisma.InputJsonValue } });
    },
    /** Keeps the reply of a request that nobody has withdrawn; false when somebody has. */
    async keepIfWanted({ principal, key }: KeyOf, reply: unknown): Promise<boolean> {
      const data = { reply: reply as Prisma.InputJsonValue };
      return (
        (await prisma.idempotencyKey.updateMany({ where: { principal, key, reply: { equals: Prisma.DbNull } }, data })).count ===
        1
      );
    },
    /** Says of a request under way that its sender wants it no more; false when it was answered before. */
    async withdraw({ principal, key }: KeyOf): Promise<boolean> {
      return this.keepIfWanted({ principal, key }, WITHDRAWN);
    },
    /** A refused request may be sent again with the same key. */
    async release({ principal, key }: KeyOf): Promise<void> {
      await prisma.idempotencyKey.deleteMany({ where: { principal, key, reply: { equals: Prisma.DbNull } } });
    },
  };
}
