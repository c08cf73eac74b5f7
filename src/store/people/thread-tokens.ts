import { createHash, randomBytes } from 'node:crypto';
import type pg from 'pg';
import { OWN_TOKEN_BYTES, type Scope, THREAD_TOKEN_PREFIX } from '../../domain/access.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { row } from '../database/database.ts';
import * as sql from './thread-tokens.sql.ts';

interface NewThreadToken {
  thread_id: string;
  scopes: readonly Scope[];
  /** The service key that makes it; null: a person does. */
  service_key_id: string | null;
  origins: string[];
  expires_at: Date;
}

/** What a presented token opens, and the person it acts for. */
export interface KnownThreadToken {
  thread_id: string;
  owner: string;
  owner_login: string;
  scopes: readonly Scope[];
  origins: string[];
  expires_at: Date;
  service_key_id: string | null;
  /** The role of the service key that made it; null: a person did. */
  key_role: string | null;
}

/** How long it stays known which sites a token was for: a page can then read that its token has expired, and ask for another one. */
export const ORIGINS_KEPT_MS = 86_400_000;

const hashToken = (token: string) => new Uint8Array(createHash('sha256').update(token).digest());

/** Stores the tokens that pages use for one thread; only their hashes are kept. */
export function threadTokenStore({ pool, prisma }: { pool: pg.Pool; prisma: PrismaClient }) {
  const table = prisma.threadToken;
  return {
    /** Creates a token, which is returned only here. */
    async create({ scopes, ...values }: NewThreadToken): Promise<string> {
      const token = `${THREAD_TOKEN_PREFIX}${randomBytes(OWN_TOKEN_BYTES).toString('base64url')}`;
      await table.create({ data: { hash: hashToken(token), scopes: [...scopes], ...values } });
      return token;
    },
    /** Counts the tokens of a thread that are valid now. */
    countValid: (thread_id: string): Promise<number> => table.count({ where: { thread_id, expires_at: { gt: new Date() } } }),
    async revoke(thread_id: string): Promise<void> {
      const now = new Date();
      await table.updateMany({ where: { thread_id, expires_at: { gt: now } }, data: { expires_at: now } });
    },
    /** Returns what a token opens, if it is valid now and so is the service key that made it; null otherwise. */
    known: async (token: string): Promise<KnownThreadToken | null> =>
      (await row<KnownThreadToken>(pool, sql.knownThreadToken({ hash: hashToken(token) }))) ?? null,
    /** True if a token names the origin that is valid now, or was within the last day. */
    async knowsOrigin(origin: string): Promise<boolean> {
      return (
        (await table.findFirst({
          where: { origins: { has: origin }, expires_at: { gt: new Date(Date.now() - ORIGINS_KEPT_MS) } },
          select: { hash: true },
        })) !== null
      );
    },
    /** True if the file belongs to a turn of the thread. */
    hasFile: async (thread_id: string, attachment_id: string): Promise<boolean> =>
      (await prisma.taskAttachment.findFirst({ where: { attachment_id, task: { thread_id } }, select: { task_id: true } })) !==
      null,
  };
}
