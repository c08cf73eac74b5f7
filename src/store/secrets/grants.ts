import { v7 as uuid } from 'uuid';
import { HOLDER_NOUNS, type SecretHolder, type TokenReference } from '../../domain/destinations.ts';
import { conflict } from '../../domain/errors.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { askingResources, type Holder } from './asking.ts';
import type { GrantKeys } from './grant-keys.ts';
import { fingerprintTokens, renewGrants } from './granting.ts';
import type { KeyRing } from './key-ring.ts';

/** A grant as a token's owner sees it: where the token may be sent, and which resource asks for it. */
interface GrantOfToken {
  id: string | null;
  /** `granted`; `asked`: the resource names it without a grant; `outdated`: granted, but the resource has changed since. */
  status: 'granted' | 'asked' | 'outdated';
  resource_type: SecretHolder;
  resource_id: string;
  resource_name: string;
  destination_label: string;
  destination: string;
  granted_at: string | null;
}

interface Parts {
  prisma: PrismaClient;
  keys: KeyRing;
  fingerprints: GrantKeys;
}

export function grantStore({ prisma, keys, fingerprints }: Parts) {
  const resources = askingResources(prisma, keys);

  /** Renews a principal's grants to a resource they saved: it gets the tokens it names now, and loses earlier ones. */
  const renew = async (principal: string, holder: Holder, token_references: readonly TokenReference[]): Promise<void> =>
    renewGrants(prisma, { principal, holder, wanted: await fingerprintTokens(fingerprints, token_references) });

  /** Lists the grants of a token and the resources that ask for it, limited to those its owner can see. */
  async function listTokenGrants({ name, created_by }: TokenOfOwner): Promise<GrantOfToken[]> {
    const current_grants = await prisma.secretGrant.findMany({
      where: { token_name: name, granted_by: created_by, superseded_at: null },
      orderBy: { id: 'asc' },
    });
    const requested_destinations = await Promise.all(
      (await resources.asking(name, created_by)).map(async ({ destination }) => ({
        ...destination,
        fingerprint: await fingerprints.fingerprint(destination),
      })),
    );
    const same = (grant: (typeof current_grants)[number], { kind, id, fingerprint }: (typeof requested_destinations)[number]) =>
      grant.resource_kind === kind && grant.resource_id === id && grant.destination === fingerprint;
    const getName = (id: string) => requested_destinations.find((one) => one.id === id)?.name ?? id;
    return [
      ...current_grants.map(
        (grant): GrantOfToken => ({
          id: grant.id,
          status: requested_destinations.some((one) => same(grant, one)) ? 'granted' : 'outdated',
          resource_type: grant.resource_kind as SecretHolder,
          resource_id: grant.resource_id,
          resource_name: getName(grant.resource_id),
          destination_label: grant.destination_label,
          destination: grant.destination,
          granted_at: grant.created_at.toISOString(),
        }),
      ),
      ...requested_destinations
        .filter((one) => !current_grants.some((grant) => same(grant, one)))
        .map(
          (one): GrantOfToken => ({
            id: null,
            status: 'asked',
            resource_type: one.kind,
            resource_id: one.id,
            resource_name: one.name,
            destination_label: one.label,
            destination: one.fingerprint,
            granted_at: null,
          }),
        ),
    ];
  }

  return {
    renew,
    ofToken: listTokenGrants,
    /** Grants exactly the destination that the owner has seen; fails with 409 if the resource has changed since. */
    async give(token: TokenOfOwner, { kind, id, destination }: Holder & { destination: string }): Promise<GrantOfToken> {
      const isRequested = (one: GrantOfToken) =>
        one.resource_type === kind && one.resource_id === id && one.destination === destination && one.status !== 'outdated';
      const grant = (await listTokenGrants(token)).find(isRequested);
      if (!grant)
        throw conflict(
          'The resource does not ask for this token at that destination now; read the grants again',
          'grant_outdated',
        );
      if (grant.status === 'granted') return grant;
      const new_grant = await prisma.secretGrant.create({
        data: {
          id: uuid(),
          token_name: token.name,
          granted_by: token.created_by,
          resource_kind: kind,
          resource_id: id,
          destination,
          destination_label: grant.destination_label,
        },
      });
      return { ...grant, id: new_grant.id, status: 'granted', granted_at: new_grant.created_at.toISOString() };
    },
    /** Revokes a grant, also for runs in progress. Returns false if the token has no such grant. */
    async revoke({ name, created_by }: TokenOfOwner, id: string): Promise<boolean> {
      const { count } = await prisma.secretGrant.deleteMany({ where: { id, token_name: name, granted_by: created_by } });
      return count > 0;
    },
    /** Grants existing resources the tokens they name of their creators. Runs once, for resources older than grants. */
    async grantExisting(): Promise<void> {
      if (await fingerprints.existingGranted()) return;
      const owners = new Map((await prisma.storedToken.findMany()).map(({ name, created_by }) => [name, created_by]));
      for (const { saved_by, holder, token_references } of await resources.all()) {
        const own = token_references.filter(({ token }) => owners.get(token) === saved_by);
        if (own.length > 0) await renew(saved_by, holder, own);
      }
      await fingerprints.noteExistingGranted();
    },
    /** Lists the stored tokens that resources name without a grant, as sentences. */
    async listUngranted(): Promise<string[]> {
      const owners = new Map((await prisma.storedToken.findMany()).map(({ name, created_by }) => [name, created_by]));
      const current_grants = await prisma.secretGrant.findMany({ where: { superseded_at: null } });
      const grant_ids = new Set(
        current_grants.map((one) => [one.token_name, one.granted_by, one.resource_id, one.destination].join(' ')),
      );
      const sentences: string[] = [];
      for (const { token, destination } of (await resources.all()).flatMap(({ token_references }) => token_references)) {
        const owner = owners.get(token);
        const place = [token, owner, destination.id, await fingerprints.fingerprint(destination)].join(' ');
        if (owner && !grant_ids.has(place))
          sentences.push(`${token} to the ${HOLDER_NOUNS[destination.kind]} ${destination.name}`);
      }
      return [...new Set(sentences)];
    },
  };
}

interface TokenOfOwner {
  name: string;
  created_by: string;
}
