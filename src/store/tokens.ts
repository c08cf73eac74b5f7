import { v7 as uuid } from 'uuid';
import type { TokenUse } from '../contracts/tokens.ts';
import { type Destination, HOLDER_NOUNS } from '../domain/destinations.ts';
import { type AppError, secretNotGranted, tokenMissing } from '../domain/errors.ts';
import type { PrismaClient, StoredToken as Row, TokenUse as UseRow } from '../generated/prisma/client.ts';
import { type Database, row, rows } from './database.ts';
import type { GrantKeys } from './grant-keys.ts';
import type { KeyRing, Sealed } from './key-ring.ts';
import { listed, type Paging, type WireAs, wireAs } from './page.ts';
import { type RowFilter, refused, resource } from './resource.ts';
import * as sql from './statements/tokens.ts';
import { countOfOthers } from './uses.ts';

interface Parts extends Pick<Database, 'pool' | 'prisma'> {
  fingerprints: Pick<GrantKeys, 'fingerprint'>;
}

interface TokenValues {
  name?: string;
  value?: string | undefined;
  description?: string | undefined;
  shared?: boolean | undefined;
}

interface TokenRequest {
  name: string;
  /** The principal in whose name it is used. */
  principal: string;
  /** Where the value is to go, as that is at this moment. */
  destination: Destination;
  /** The run that asks. */
  task_id?: string | undefined;
}

const wireUse: (row: UseRow) => WireAs<UseRow, TokenUse> = wireAs<TokenUse>();
const NOUN = 'stored token';
const context = (name: string) => `stored-token:${name}`;

interface Found extends Sealed {
  login: string | null;
  verdict: 'granted' | 'not_granted' | 'foreign';
}

function missing({ name, destination: { kind, name: resource } }: TokenRequest): AppError {
  const place = `the ${HOLDER_NOUNS[kind]} ${resource}`;
  return tokenMissing(
    `There is no stored token named ${name}, which ${place} names; store one under that name, or name another in ${place}`,
  );
}

function tokenRefusal({ name, destination: { kind, name: resource, label } }: TokenRequest, { login, verdict }: Found): AppError {
  const owner = login ?? 'its owner';
  const place = `the ${HOLDER_NOUNS[kind]} ${resource}`;
  return verdict === 'foreign'
    ? secretNotGranted(
        `The stored token ${name}, which ${place} names, belongs to ${login ?? 'someone else'} and is not shared; ${owner} can share it`,
      )
    : secretNotGranted(
        `The stored token ${name} is not granted to ${place} as it is now (${label}); ${owner} can grant it by saving ${place}, or on the token's page`,
      );
}

export function tokenStore({ pool, prisma, fingerprints }: Parts, keys: KeyRing) {
  const table = resource<Row & { created_at: never; updated_at: never }>(prisma.storedToken, { noun: NOUN, tagged: false });
  const sealed = (name: string, value: string) => ({ ...keys.seal(value, context(name)), fingerprint: keys.fingerprint(value) });

  /** The one place where a stored token is opened to be sent; every attempt is kept. Throws a sentence where it may not be. */
  async function open(request: TokenRequest): Promise<string> {
    const { name, principal, destination, task_id = null } = request;
    const { kind, id, name: resource_name, label } = destination;
    const query = sql.openToken({
      use_id: uuid(),
      name,
      principal,
      task_id,
      resource_kind: kind,
      resource_id: id,
      resource_name,
      destination: await fingerprints.fingerprint(destination),
      destination_label: label,
      purpose: `${HOLDER_NOUNS[kind]} ${resource_name}`,
    });
    const token = await row<Found>(pool, query);
    if (!token) throw missing(request);
    if (token.verdict !== 'granted') throw tokenRefusal(request, token);
    return keys.open(token, context(name));
  }

  return {
    /** The viewer's own, or everybody's. */
    async list(filter: RowFilter, viewer: string, { all = false } = {}) {
      const page = await table.list(filter, all ? {} : { created_by: viewer });
      const names = page.items.map(({ name }) => name);
      const users = await usersOf(prisma, names, viewer);
      return { ...page, items: page.items.map((token) => ({ ...token, used_by: users.get(token.name) ?? [] })) };
    },
    /** `used_by` as far as the viewer may know; without one, as its owner may. */
    async find(id: string, viewer?: string) {
      const token = await table.find(id);
      return token && { ...token, used_by: (await usersOf(prisma, [token.name], viewer)).get(token.name) ?? [] };
    },
    async create({ value = '', ...values }: TokenValues & { name: string }, created_by: string) {
      return { ...(await table.create({ ...values, ...sealed(values.name, value), created_by })), used_by: [] };
    },
    async update(id: string, name: string, { value, ...values }: TokenValues) {
      const token = await table.update(id, { ...values, ...(value === undefined ? {} : sealed(name, value)) });
      return { ...token, used_by: (await usersOf(prisma, [name])).get(name) ?? [] };
    },
    remove: (id: string) => table.remove(id),
    /** What refers to it, as far as the viewer may know. */
    usersOf: async (name: string, viewer: string) => (await usersOf(prisma, [name], viewer)).get(name) ?? [],
    /** Names of a principal's own. */
    async namesOf(principal: string): Promise<string[]> {
      const where = { created_by: principal };
      const found = await prisma.storedToken.findMany({ where, select: { name: true }, orderBy: { name: 'asc' } });
      return found.map(({ name }) => name);
    },
    /** Names that a principal's runs may use where they are granted. */
    async usableBy(principal: string): Promise<string[]> {
      const where = { OR: [{ created_by: principal }, { shared: true }] };
      return (await prisma.storedToken.findMany({ where, select: { name: true } })).map(({ name }) => name);
    },
    open,
    /** Values that a run has met, so that they are taken out of what is said about it; they go nowhere. */
    async metBy(task_id: string): Promise<string[]> {
      const found = await rows<Sealed & { name: string }>(pool, sql.tokensMet({ task_id }));
      return found.map((token) => keys.open(token, context(token.name)));
    },
    /** Who used a token for what, or tried to, newest first. Uses of another token that had the name before are not among them. */
    async uses({ name, created_at }: { name: string; created_at: string }, paging: Paging) {
      const where = { token_name: name, used_at: { gte: new Date(created_at) }, resource_kind: { not: null } };
      const page = await listed(prisma.tokenUse, { where, paging, shown: wireUse });
      const ids = [...new Set(page.items.map(({ principal }) => principal))];
      const logins = new Map(
        (await prisma.principal.findMany({ where: { id: { in: ids } } })).map(({ id, login }) => [id, login]),
      );
      return { ...page, items: page.items.map((use) => ({ ...use, used_by: logins.get(use.principal) ?? use.principal })) };
    },
    /**
     * Opens tokens so that their values are known to whoever takes them out of what comes back. They are sent nowhere, so it is
     * no use, and is not on record as one. What cannot be opened is passed over: nobody else can open it either.
     */
    async openForRedaction(names: string[], principal: string): Promise<void> {
      if (names.length === 0) return;
      const where = { name: { in: names }, OR: [{ created_by: principal }, { shared: true }] };
      for (const token of await prisma.storedToken.findMany({ where })) {
        if (keys.holds(token.key_id)) keys.open(token as Sealed, context(token.name));
      }
    },
    /** Seals every value anew with the active key. Returns how many were moved. */
    async rotate(): Promise<number> {
      const stale = await prisma.storedToken.findMany({ where: { key_id: { not: keys.active_key_id } } });
      for (const token of stale) {
        const data = sealed(token.name, keys.open(token as Sealed, context(token.name)));
        await refused(NOUN, prisma.storedToken.update({ where: { id: token.id }, data }));
      }
      return stale.length;
    },
  };
}

/**
 * The resources that tokens are granted to, as `noun name`; workflows that are not the viewer's (else the token owner's) are counted.
 * A resource that names a token without a grant cannot use it, so it does not keep its owner from deleting it.
 */
async function usersOf(prisma: PrismaClient, names: string[], viewer: string | null = null): Promise<Map<string, string[]>> {
  if (names.length === 0) return new Map();
  const found = await prisma.$queryRaw<{ token: string; used_by: string; foreign: boolean }[]>`
    SELECT u.token, u.used_by, coalesce(u.owner <> coalesce(${viewer}::text, t.created_by), false) AS foreign FROM (
      SELECT api_key_token_name AS token, 'provider ' || name AS used_by, NULL AS owner, id FROM providers
        WHERE api_key_token_name = ANY (${names})
      UNION SELECT e.value ->> 'token_name', 'custom tool ' || t.name, NULL, t.id FROM custom_tools t, jsonb_each(t.env_config) e
        WHERE e.value ->> 'token_name' = ANY (${names})
      UNION SELECT repo_token_name, 'workflow ' || coalesce(title, id::text), owner, id FROM workflows
        WHERE repo_token_name = ANY (${names})
      UNION SELECT e.value, 'workflow ' || coalesce(w.title, w.id::text), w.owner, w.id
        FROM workflows w, jsonb_each_text(w.credential_overrides) e WHERE e.value = ANY (${names})
      UNION SELECT n.name, 'MCP server ' || m.name, NULL, m.id FROM mcp_servers m, unnest(${names}::text[]) AS n (name)
        WHERE position('{{token:' || n.name || '}}' IN replace(m.connection_config::text, ' ', '')) > 0
      UNION SELECT n.name, 'knowledge source ' || k.name, NULL, k.id FROM knowledge_sources k, unnest(${names}::text[]) AS n (name)
        WHERE position('{{token:' || n.name || '}}' IN replace(k.connection_config::text, ' ', '')) > 0) u
    JOIN stored_tokens t ON t.name = u.token
    WHERE EXISTS (SELECT 1 FROM secret_grants g WHERE g.token_name = t.name AND g.granted_by = t.created_by
      AND g.resource_id = u.id AND g.superseded_at IS NULL)
    ORDER BY u.used_by`;
  const users = new Map<string, string[]>();
  for (const [token, all] of Map.groupBy(found, (user) => user.token)) {
    const named = all.filter(({ foreign }) => !foreign).map(({ used_by }) => used_by);
    users.set(token, [...named, ...countOfOthers(all.length - named.length)]);
  }
  return users;
}
