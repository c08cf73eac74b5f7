import { createHash, randomBytes } from 'node:crypto';
import { v7 as uuid } from 'uuid';
import type { CallerRole, Scope } from '../contracts/access.ts';
import type { ServiceKey } from '../contracts/keys.ts';
import { OWN_TOKEN_BYTES } from '../domain/access.ts';
import type { PrismaClient, ServiceKey as Row } from '../generated/prisma/client.ts';
import { listed, type Paging, wireAs } from './page.ts';
import { refused } from './resource.ts';

const NOUN = 'service key';
const USE_NOTED_MS = 60_000;
const SHOWN_START = 6;
const SHOWN_END = 4;

/** What a key that was presented allows. */
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
  made_with: string | null;
}

/** Keys have so many random bits that a plain hash cannot be searched. */
const hashOf = (key: string) => new Uint8Array(createHash('sha256').update(key).digest());

function freshKey() {
  const key = `pk_${randomBytes(OWN_TOKEN_BYTES).toString('base64url')}`;
  return { key, hash: hashOf(key), hint: `${key.slice(0, SHOWN_START)}…${key.slice(-SHOWN_END)}` };
}

export function serviceKeyStore(prisma: PrismaClient) {
  const table = prisma.serviceKey;
  return {
    async find(id: string): Promise<ServiceKey | null> {
      const found = await table.findUnique({ where: { id } });
      return found && keyOfRow(found);
    },
    list: ({ owner, q, ...paging }: Paging & { owner: string | null; q?: string | undefined }) =>
      listed(table, {
        where: { ...(owner === null ? {} : { owner }), ...(q ? { name: { contains: q, mode: 'insensitive' } } : {}) },
        paging,
        shown: keyOfRow,
      }),
    /** The key with an id, if it is valid now. */
    async valid(id: string): Promise<KnownKey | null> {
      const found = await table.findFirst({ where: { id, OR: [{ expires_at: null }, { expires_at: { gt: new Date() } }] } });
      return found && { ...found, role: found.role as CallerRole, scopes: found.scopes as Scope[] };
    },
    countOf: (owner: string): Promise<number> => table.count({ where: { owner } }),
    async create({ scopes, ...values }: NewKey): Promise<ServiceKey & { key: string }> {
      const { key, ...kept } = freshKey();
      const data = { id: uuid(), ...values, scopes: [...scopes], ...kept };
      return { ...keyOfRow(await refused(NOUN, table.create({ data }))), key };
    },
    /** The key that was valid until now stays so until a time; one before it ends. */
    async rotate(id: string, previous_until: Date): Promise<ServiceKey & { key: string }> {
      const { key, ...kept } = freshKey();
      const replacing = prisma.$transaction(async (on) => {
        const { hash } = await on.serviceKey.findUniqueOrThrow({ where: { id } });
        const data = { ...kept, previous_hash: hash, previous_until, rotated_at: new Date() };
        return on.serviceKey.update({ where: { id, hash }, data });
      });
      return { ...keyOfRow(await refused(NOUN, replacing)), key };
    },
    async remove(id: string): Promise<void> {
      await table.deleteMany({ where: { id } });
    },
    /** The key as it was presented, if it is valid now. Its use is noted by the minute; nothing waits for that. */
    async known(key: string, onFailure: (error: Error) => void): Promise<KnownKey | null> {
      const hash = hashOf(key);
      const now = new Date();
      const found = await table.findFirst({
        where: {
          AND: [
            { OR: [{ hash }, { previous_hash: hash, previous_until: { gt: now } }] },
            { OR: [{ expires_at: null }, { expires_at: { gt: now } }] },
          ],
        },
      });
      if (!found) return null;
      const { id, last_used_at } = found;
      if (!last_used_at || now.getTime() - last_used_at.getTime() > USE_NOTED_MS)
        table.updateMany({ where: { id }, data: { last_used_at: now } }).catch(onFailure);
      return { ...found, role: found.role as CallerRole, scopes: found.scopes as Scope[] };
    },
  };
}

function keyOfRow({ hash: _, previous_hash: __, previous_until, ...row }: Row): ServiceKey {
  const previous_valid_until = previous_until && previous_until.getTime() > Date.now() ? previous_until : null;
  return wireAs<ServiceKey>()({ ...row, previous_valid_until });
}
