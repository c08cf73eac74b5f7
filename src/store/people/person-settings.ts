import type { PersonSettings } from '../../contracts/me.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';

const DEFAULTS: PersonSettings = { views: [] };

/** Stores the settings of people; a person without any has the defaults. */
export function personSettings({ personSettings: table }: PrismaClient) {
  const toSettings = (row: { views: unknown } | null) =>
    row === null ? DEFAULTS : { views: row.views as PersonSettings['views'] };
  return {
    read: async (owner: string): Promise<PersonSettings> => toSettings(await table.findUnique({ where: { owner } })),
    async change(owner: string, { views }: { views?: PersonSettings['views'] | undefined }): Promise<PersonSettings> {
      const set = views === undefined ? {} : { views };
      return toSettings(await table.upsert({ where: { owner }, create: { owner, ...set }, update: set }));
    },
  };
}
