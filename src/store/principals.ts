import { principalKey } from '../domain/access.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';

export interface Principal {
  provider: string;
  subject: string;
  login: string;
}

export function principalStore(prisma: PrismaClient) {
  return {
    async seen(principal: Principal): Promise<void> {
      const id = principalKey(principal);
      const data = { ...principal, last_seen_at: new Date() };
      await prisma.principal.upsert({ where: { id }, create: { id, ...data }, update: data });
    },
  };
}
