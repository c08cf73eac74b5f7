import { v7 as uuid } from 'uuid';
import type { SecretHolder, TokenReference } from '../../domain/destinations.ts';
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts';
import { rowsWithin } from '../database/database.ts';
import type { Resource } from '../database/resource.ts';
import { askingResources, type Holder } from './asking.ts';
import type { GrantKeys } from './grant-keys.ts';
import * as sql from './grants.sql.ts';
import type { KeyRing } from './key-ring.ts';

interface Fingerprinted {
  id: string;
  token_name: string;
  label: string;
  destination: string;
}

export const fingerprintTokens = (
  fingerprints: GrantKeys,
  token_references: readonly TokenReference[],
): Promise<Fingerprinted[]> =>
  Promise.all(
    token_references.map(async ({ token, destination }) => ({
      id: uuid(),
      token_name: token,
      label: destination.label,
      destination: await fingerprints.fingerprint(destination),
    })),
  );

/** Grants a resource the principal's tokens that it names now, and ends their earlier grants to it. */
export async function renewGrants(
  on: Prisma.TransactionClient,
  { principal, holder, wanted }: { principal: string; holder: Holder; wanted: readonly Fingerprinted[] },
): Promise<void> {
  await rowsWithin(on, sql.replaceGrants({ principal, kind: holder.kind, id: holder.id, wanted: JSON.stringify(wanted) }));
}

interface Parts {
  prisma: PrismaClient;
  keys: KeyRing;
  fingerprints: GrantKeys;
}

const TRANSACTION = { maxWait: 10_000, timeout: 15_000 };

export type Granting = ReturnType<typeof createGranting>;

/** Saving a resource grants it the saver's tokens that it names. Both are written in one transaction. */
export function createGranting({ prisma, keys, fingerprints }: Parts) {
  async function renewHolder(on: Prisma.TransactionClient, principal: string, { kind, id }: Holder): Promise<void> {
    const token_references = (await askingResources(on, keys).listAsking(kind, [id])).flatMap((one) => one.token_references);
    await renewGrants(on, { principal, holder: { kind, id }, wanted: await fingerprintTokens(fingerprints, token_references) });
  }

  /** Runs `write` and grants its record the tokens of `by` that it names, in one transaction; without `by`, it only writes. */
  async function saving<R extends { id: string }>(
    kind: SecretHolder,
    by: string | undefined,
    write: (on: Prisma.TransactionClient) => Promise<R>,
  ): Promise<R> {
    if (by === undefined) return write(prisma);
    // Read before the transaction, which already holds a pool connection.
    await fingerprints.ready();
    return prisma.$transaction(async (on) => {
      const record = await write(on);
      await renewHolder(on, by, { kind, id: record.id });
      return record;
    }, TRANSACTION);
  }

  return {
    ready: fingerprints.ready,
    saving,
    /** A resource's writes, each wrapped in `saving`. */
    writes: <R extends { id: string }>(
      kind: SecretHolder,
      tableIn: (on: Prisma.TransactionClient) => Pick<Resource<R>, 'create' | 'update'>,
    ): Pick<Resource<R>, 'create' | 'update'> => ({
      create: (values, by) => saving(kind, by, (on) => tableIn(on).create(values)),
      update: (id, values, by) => saving(kind, by, (on) => tableIn(on).update(id, values, by)),
    }),
    /** Grants resources created in the same transaction the tokens of `by` that they name. */
    async grantCreated(on: Prisma.TransactionClient, by: string, { kind, ids }: { kind: SecretHolder; ids: readonly string[] }) {
      if (ids.length === 0) return;
      const asking = (await askingResources(on, keys).listAsking(kind, ids)).filter(
        ({ token_references }) => token_references.length > 0,
      );
      for (const { holder, token_references } of asking)
        await renewGrants(on, { principal: by, holder, wanted: await fingerprintTokens(fingerprints, token_references) });
    },
  };
}
