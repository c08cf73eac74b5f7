import type { Prisma } from '../generated/prisma/client.ts';
import type { KeyRing } from './key-ring.ts';
import { type Filter, type Resource, resource } from './resource.ts';
import { configSealer } from './sealed-config.ts';

interface Configured {
  id: string;
  connection_config: unknown;
}

/** The part of a Prisma model that is read and written beside the resource. */
interface Table {
  findMany(args: object): Promise<Configured[]>;
}

/** A resource with a `connection_config` whose secrets are sealed in the database and masked for everyone who reads. */
export function sealedResource<R extends Configured>(
  model: unknown,
  { noun, keys, context }: { noun: string; keys: KeyRing; context: string },
) {
  const table = resource<R>(model, { noun });
  const sealer = configSealer(keys, context);
  const shown = (row: R): R => ({ ...row, connection_config: sealer.mask(row.connection_config) });
  const sealedIn = (values: object, before?: unknown) =>
    'connection_config' in values
      ? { ...values, connection_config: sealer.seal(values.connection_config, before) as Prisma.InputJsonObject }
      : values;
  const sealed: Resource<R> = {
    async list(filter: Filter, where?: object) {
      const page = await table.list(filter, where);
      return { ...page, items: page.items.map(shown) };
    },
    async find(id) {
      const found = await table.find(id);
      return found && shown(found);
    },
    create: async (values) => shown(await table.create(sealedIn(values))),
    update: async (id, values) => shown(await table.update(id, sealedIn(values, (await table.find(id))?.connection_config))),
    remove: table.remove,
  };
  return {
    ...sealed,
    sealer,
    /** With its secrets opened, for those who connect; names of stored tokens are still to be filled. */
    async opened(id: string): Promise<R | null> {
      const found = await table.find(id);
      return found && { ...found, connection_config: sealer.open(found.connection_config) };
    },
    /** The ones that match, with their secrets opened. */
    async openedAll(where: object): Promise<R[]> {
      const found = (await (model as Table).findMany({ where, orderBy: { id: 'asc' } })) as R[];
      return found.map((row) => ({ ...row, connection_config: sealer.open(row.connection_config) }));
    },
    /** What came of the last attempt to reach it. */
    setStatus: async (id: string, status: 'connected' | 'error', last_error: string | null): Promise<void> => {
      await table.update(id, { status, last_error });
    },
    /** Seals anew with the active key. Returns how many were changed. */
    async rotate(): Promise<number> {
      const all = await (model as Table).findMany({ select: { id: true, connection_config: true } });
      const stale = all.flatMap(({ id, connection_config }) => {
        const renewed = sealer.renew(connection_config);
        return renewed ? [{ id, connection_config: renewed }] : [];
      });
      for (const { id, connection_config } of stale) await table.update(id, { connection_config });
      return stale.length;
    },
  };
}
