import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Prisma } from '../../generated/prisma/client.ts';
import { type Resource, type RowFilter, resource } from '../database/resource.ts';
import type { KeyRing } from './key-ring.ts';
import { configSealer } from './sealed-config.ts';

interface Configured {
  id: string;
  created_by: string;
  connection_config: unknown;
  updated_at: Date | string;
}

/** The part of a Prisma model that is read and written in addition to the resource. */
interface Table {
  findMany(args: object): Promise<Configured[]>;
}

interface SealedFacts<R> {
  noun: string;
  keys: KeyRing;
  context: string;
  /** Returns the parts of an opened resource that decide where its secrets are sent. */
  getAddress(record: R): unknown;
}

/** A resource with a `connection_config` whose secrets are sealed in the database and masked for every reader. */
export function createSealedResource<R extends Configured>(model: unknown, { noun, keys, context, getAddress }: SealedFacts<R>) {
  const table = resource<R>(model, { noun });
  const sealer = configSealer(keys, context);
  const maskRow = (row: R): R => ({ ...row, connection_config: sealer.mask(row.connection_config) });
  const openRow = (row: R): R => ({ ...row, connection_config: sealer.open(row.connection_config) });
  const json = (config: unknown) => config as Prisma.InputJsonObject;

  /**
   * Seals a change. A secret sealed for one address is never sent to another, and is cleared when another user changes the
   * configuration.
   */
  function sealChange(values: Partial<R>, before: R, by: string | undefined): { changes: object; cleared: string[] } {
    const sent_config = values.connection_config ?? sealer.mask(before.connection_config);
    const merged = { ...before, ...values, connection_config: sealer.seal(sent_config, before.connection_config) };
    const [now, then] = [openRow(merged), openRow(before)];
    const is_moved = canonicalJson(getAddress(now)) !== canonicalJson(getAddress(then));
    const is_foreign = by !== undefined && by !== before.created_by;
    const config_changed = canonicalJson(now.connection_config) !== canonicalJson(then.connection_config);
    const config = is_moved || (is_foreign && config_changed) ? sealer.seal(sent_config) : merged.connection_config;
    const writes_config = 'connection_config' in values || config !== merged.connection_config;
    return {
      changes: writes_config ? { ...values, connection_config: json(config) } : values,
      cleared: config === merged.connection_config ? [] : sealer.listMasks(sent_config),
    };
  }

  const sealed: Resource<R> = {
    async list(filter: RowFilter, where?: object) {
      const page = await table.list(filter, where);
      return { ...page, items: page.items.map(maskRow) };
    },
    async find(id) {
      const record = await table.find(id);
      return record && maskRow(record);
    },
    async create(values) {
      const { connection_config = {} } = values as Partial<R>;
      return maskRow(await table.create({ ...values, connection_config: json(sealer.seal(connection_config)) }));
    },
    async update(id, values, by) {
      const before = await table.find(id);
      return maskRow(await table.update(id, before ? sealChange(values as Partial<R>, before, by).changes : values));
    },
    remove: table.remove,
  };
  return {
    ...sealed,
    sealer,
    /**
     * Returns the resource with its secrets opened, for connecting; stored tokens are not filled in yet. Null if there is none.
     */
    async findOpened(id: string): Promise<R | null> {
      const record = await table.find(id);
      return record && openRow(record);
    },
    /** Lists the paths of the sealed values that a change would clear. */
    async clears(id: string, values: Partial<R>, by: string): Promise<string[]> {
      const before = await table.find(id);
      return before ? sealChange(values, before, by).cleared : [];
    },
    /** Lists the matching resources with their secrets opened. */
    async listOpened(where: object): Promise<R[]> {
      const records = (await (model as Table).findMany({ where, orderBy: { id: 'asc' } })) as R[];
      return records.map(openRow);
    },
    /** Returns those of the ids that exist. */
    async filterKnown(ids: readonly string[]): Promise<string[]> {
      const known = await (model as Table).findMany({ where: { id: { in: ids } }, select: { id: true } });
      return known.map(({ id }) => id);
    },
    /** Records the result of the last attempt to connect. */
    setStatus: async (id: string, status: 'connected' | 'error', last_error: string | null): Promise<void> => {
      await table.update(id, { status, last_error });
    },
    /** Seals again with the active key, which is no change of a record. Returns how many changed. */
    async rotate(): Promise<number> {
      const all = await (model as Table).findMany({ select: { id: true, connection_config: true, updated_at: true } });
      const stale_rows = all.flatMap(({ id, connection_config, updated_at }) => {
        const renewed_config = sealer.renew(connection_config);
        return renewed_config ? [{ id, changes: { connection_config: renewed_config, updated_at } }] : [];
      });
      for (const { id, changes } of stale_rows) await table.update(id, changes);
      return stale_rows.length;
    },
  };
}
