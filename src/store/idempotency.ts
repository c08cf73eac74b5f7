import type { Prisma, PrismaClient } from '../generated/prisma/client.ts';

export type Claim =
  | { kind: 'new' }
  /** The same request was answered before. */
  | { kind: 'replay'; reply: unknown }
  /** The key was used for another request. */
  | { kind: 'mismatch' }
  /** The first request with this key is still being served. */
  | { kind: 'busy' };

interface KeyOf {
  principal: string;
  key: string;
}

const KEPT_MS = 24 * 3_600_000;

export type IdempotencyStore = ReturnType<typeof idempotencyStore>;

export function idempotencyStore(prisma: PrismaClient) {
  const where = ({ principal, key }: KeyOf) => ({ principal_key: { principal, key } });
  return {
    async claim({ principal, key }: KeyOf, request_hash: string): Promise<Claim> {
      await prisma.idempotencyKey.deleteMany({ where: { principal, key, created_at: { lt: new Date(Date.now() - KEPT_MS) } } });
      const { count } = await prisma.idempotencyKey.createMany({
        data: [{ principal, key, request_hash }],
        skipDuplicates: true,
      });
      if (count === 1) return { kind: 'new' };
      const known = await prisma.idempotencyKey.findUnique({ where: where({ principal, key }) });
      if (!known || known.request_hash !== request_hash) return known ? { kind: 'mismatch' } : { kind: 'busy' };
      return known.reply === null ? { kind: 'busy' } : { kind: 'replay', reply: known.reply };
    },
    async keep(key: KeyOf, reply: unknown): Promise<void> {
      await prisma.idempotencyKey.update({ where: where(key), data: { reply: reply as Prisma.InputJsonValue } });
    },
    /** A refused request may be sent again with the same key. */
    async release({ principal, key }: KeyOf): Promise<void> {
      await prisma.idempotencyKey.deleteMany({ where: { principal, key, reply: { equals: null as never } } });
    },
  };
}
