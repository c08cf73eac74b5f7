import type { CallerRole } from '../../domain/access.ts';
import { principalKey } from '../../domain/access.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';

export interface Principal {
  provider: string;
  subject: string;
  login: string;
}

/** A person who has signed in, with the role that their issuer named at the last sign-in. */
export interface KnownPrincipal extends Principal {
  claimed_role?: CallerRole | null | undefined;
}

export function principalStore(prisma: PrismaClient) {
  const table = prisma.principal;
  return {
    /** Records a sign-in. The login and role that it named replace the previous ones. */
    async noteSignIn({ provider, subject, login, claimed_role = null }: KnownPrincipal): Promise<void> {
      const id = principalKey({ provider, subject });
      const data = { provider, subject, login, claimed_role, last_seen_at: new Date() };
      await table.upsert({ where: { id }, create: { id, ...data }, update: data });
    },
    async find(id: string): Promise<KnownPrincipal | null> {
      const principal = await table.findUnique({ where: { id } });
      return principal && { ...principal, claimed_role: principal.claimed_role as CallerRole | null };
    },
  };
}
