import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { EndingKey, RotatedServiceKey, ServiceKey } from '../../contracts/keys.ts';
import type { CallerRole, Scope } from '../../domain/access.ts';
import { OWN_TOKEN_BYTES } from '../../domain/access.ts';
import { AppError } from '../../domain/errors.ts';
import type { Prisma, PrismaClient, ServiceKey as Row } from '../../generated/prisma/client.ts';
import { rowsWithin } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { translateConstraintErrors } from '../database/resource.ts';
import * as sql from './service-keys.sql.ts';

const NOUN = 'service key';
const USE_NOTED_MS = 60_000;
const SHOWN_START = 6;
const SHOWN_END = 4;

/** The permissions of a presented key. */
export interface KnownKey {
  id: string;
  owner: string;
  owner_login: string;
  role: CallerRole;
  scopes: readonly Scope[];
  expires_at: Date | null;
}

interface NewKey {
  owner: string;
  owner_login: string;
  name: string;
  role: CallerRole;
  scopes: readonly Scope[];
  expires_at: string | null;
}

/** The key with which a person creates or rotates keys, as the request presents it. */
export interface PresentedKey {
  id: string;
  key: string;
}

/** Hashes a key. A plain hash is enough, because a key has too many random bits to be found by search. */
const hashKey = (key: string) => new Uint8Array(createHash('sha256').update(key).digest());

function freshKey() {
  const key = `pk_${randomBytes(OWN_TOKEN_BYTES).toString('base64url')}`;
  return { key, hash: hashKey(key), hint: `${key.slice(0, SHOWN_START)}…${key.slice(-SHOWN_END)}` };
}

type Transaction = Prisma.TransactionClient;

/**
 * Throws unless the key is still present. It puts concurrent rotations and deletions before or after this one: processes cache
 * the state of a key for seconds.
 */
async function requirePresent(on: Transaction, { id, key }: PresentedKey): Promise<void> {
  const matches = await rowsWithin(on, sql.holdKey({ id, hash: hashKey(key) }));
  if (matches.length === 0) throw new AppError('forbidden', 'This service key was replaced, or has ended', { code: 'key_ended' });
}

/** Limits the life of the keys made with a key, directly or indirectly. Locks them oldest first, as every rotation does. */
async function endMade(on: Transaction, id: string, until: Date): Promise<EndingKey[]> {
  const ending = await rowsWithin<{ id: string; name: string; expires_at: Date }>(on, sql.endKeysMadeWith({ id, until }));
  return ending.map(({ expires_at, ...key }) => ({ ...key, expires_at: expires_at.toISOString() }));
}

const earliest = (...times: (Date | null)[]): Date | null => {
  const ends = times.filter((time) => time !== null).map((time) => time.getTime());
  return ends.length === 0 ? null : new Date(Math.min(...ends));
};

export function serviceKeyStore(prisma: PrismaClient) {
  const table = prisma.serviceKey;

  /** Returns when the first of the keys that a key was made with ends, directly or indirectly; null if none of them ends. */
  async function endOfMakers(made_with: string): Promise<Date | null> {
    const [result] = await rowsWithin<{ ends: Date | null }>(prisma, sql.endOfMakers({ made_with }));
    return result?.ends ?? null;
  }

  return {
    async find(id: string): Promise<ServiceKey | null> {
      const service_key = await table.findUnique({ where: { id } });
      return service_key && keyOfRow(service_key);
    },
    list: ({ owner, q, ...paging }: Paging & { owner: string | null; q?: string | undefined }) =>
      listPage(table, {
        where: { ...(owner === null ? {} : { owner }), ...(q ? { name: { contains: q, mode: 'insensitive' } } : {}) },
        paging,
        toItem: keyOfRow,
      }),
    /** Returns the key with an id, if it is valid now; null otherwise. */
    async valid(id: string): Promise<KnownKey | null> {
      const service_key = await table.findFirst({
        where: { id, OR: [{ expires_at: null }, { expires_at: { gt: new Date() } }] },
      });
      return service_key && { ...service_key, role: service_key.role as CallerRole, scopes: service_key.scopes as Scope[] };
    },
    countOwned: (owner: string): Promise<number> => table.count({ where: { owner } }),
    /** True if a key was made with another one, directly or indirectly. */
    async wasMadeWith({ made_with }: Pick<ServiceKey, 'made_with'>, id: string): Promise<boolean> {
      if (made_with === null) return false;
      const makers = await rowsWithin(prisma, sql.makerOfKey({ made_with, id }));
      return makers.length > 0;
    },
    async create({ scopes, ...values }: NewKey, by: PresentedKey | null): Promise<ServiceKey & { key: string }> {
      const { key, ...kept } = freshKey();
      const data = { id: uuid(), ...values, scopes: [...scopes], made_with: by?.id ?? null, ...kept };
      const making = prisma.$transaction(async (on) => {
        if (by) await requirePresent(on, by);
        return on.serviceKey.create({ data });
      });
      return { ...keyOfRow(await translateConstraintErrors(NOUN, making)), key };
    },
    /**
     * Replaces a key. The current one and the keys made with it stay valid until `previous_until`; an earlier previous one ends.
     */
    async rotate(id: string, previous_until: Date, by: PresentedKey | null): Promise<RotatedServiceKey> {
      const { key, ...kept } = freshKey();
      const replacing = prisma.$transaction(async (on) => {
        if (by) await requirePresent(on, by);
        const { hash } = await on.serviceKey.findUniqueOrThrow({ where: { id } });
        const data = { ...kept, previous_hash: hash, previous_until, rotated_at: new Date() };
        const replaced = await on.serviceKey.update({ where: { id, hash }, data });
        return { ...keyOfRow(replaced), ending_keys: await endMade(on, id, previous_until) };
      });
      return { ...(await translateConstraintErrors(NOUN, replacing)), key };
    },
    async remove(id: string): Promise<void> {
      await table.deleteMany({ where: { id } });
    },
    /**
     * Returns the presented key if it is valid now; null otherwise. Its use is recorded at most once a minute; nothing waits for
     * that.
     */
    async known(key: string, onFailure: (error: Error) => void): Promise<KnownKey | null> {
      const hash = hashKey(key);
      const now = new Date();
      const service_key = await table.findFirst({
        where: {
          AND: [
            { OR: [{ hash }, { previous_hash: hash, previous_until: { gt: now } }] },
            { OR: [{ expires_at: null }, { expires_at: { gt: now } }] },
          ],
        },
      });
      if (!service_key) return null;
      const { id, last_used_at, made_with } = service_key;
      const was_replaced = Buffer.compare(service_key.hash, hash) !== 0;
      const ends_with = made_with === null ? null : await endOfMakers(made_with);
      const expires_at = earliest(service_key.expires_at, ends_with, was_replaced ? service_key.previous_until : null);
      if (expires_at && expires_at <= now) return null;
      if (!last_used_at || now.getTime() - last_used_at.getTime() > USE_NOTED_MS)
        table.updateMany({ where: { id }, data: { last_used_at: now } }).catch(onFailure);
      // A replaced key may not create keys that would outlive it.
      const scopes = (service_key.scopes as Scope[]).filter((scope) => !(was_replaced && scope === 'keys'));
      return { ...service_key, role: service_key.role as CallerRole, scopes, expires_at };
    },
  };
}

function keyOfRow({ hash: _, previous_hash: __, previous_until, ...row }: Row): ServiceKey {
  const previous_valid_until = previous_until && previous_until.getTime() > Date.now() ? previous_until : null;
  return wireAs<ServiceKey>()({ ...row, previous_valid_until });
}
