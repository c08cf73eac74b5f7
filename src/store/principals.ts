import type { PrismaClient } from '../generated/prisma/client.ts';

export interface Principal {
  provider: string;
  subject: string;
  login: string;
}

/** The owner key: the provider and its stable subject, because a login can be reassigned. */
export const principalKey = ({ provider, subject }: Principal) => `${provider}:${subject}`;

export function principalStore(prisma: PrismaClient) {
  return {
    async seen(principal: Principal): Promise<void> {
      const id = principalKey(principal);
      const data = { ...principal, last_seen_at: new Date() };
      await prisma.principal.upsert({ where: { id }, create: { id, ...data }, update: data });
    },
  };
}
