import { createHash, randomBytes } from 'node:crypto';
import type { CallerRole } from '../../domain/access.ts';
import { OWN_TOKEN_BYTES } from '../../domain/access.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import type { Principal } from './principals.ts';

/** The person who is signed in by a browser, and the time at which the session ends. */
export interface BrowserSession extends Principal {
  claimed_role: CallerRole | null;
  expires_at: Date;
}

const hashSession = (session: string) => new Uint8Array(createHash('sha256').update(session).digest());

export function browserSessionStore(prisma: PrismaClient) {
  const table = prisma.browserSession;
  return {
    /** Creates a session and returns its id, which only the browser keeps. */
    async create({ provider, subject, login, claimed_role, expires_at }: BrowserSession): Promise<string> {
      const session = `ps_${randomBytes(OWN_TOKEN_BYTES).toString('base64url')}`;
      await table.create({ data: { hash: hashSession(session), provider, subject, login, claimed_role, expires_at } });
      return session;
    },
    async known(session: string): Promise<BrowserSession | null> {
      const record = await table.findFirst({ where: { hash: hashSession(session), expires_at: { gt: new Date() } } });
      return record && { ...record, claimed_role: record.claimed_role as CallerRole | null };
    },
    async remove(session: string): Promise<void> {
      await table.deleteMany({ where: { hash: hashSession(session) } });
    },
  };
}
