import type { PrismaClient } from '../generated/prisma/client.ts';

export interface Principal {
  provider: string;
  subject: string;
  login: string;
}

/** What things are owned by: the provider and its stable subject, since a login can be given to someone else. */
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
