import { v7 as uuid } from 'uuid';
import type { TokenUse } from '../../contracts/tokens.ts';
import { type Destination, HOLDER_NOUNS } from '../../domain/destinations.ts';
import { type AppError, secretNotGranted, tokenMissing } from '../../domain/errors.ts';
import type { PrismaClient, StoredToken as Row, TokenUse as UseRow } from '../../generated/prisma/client.ts';
import { type Database, RUN_STATEMENT_MS, row, rows, rowsWithin, withTimeLimit } from '../database/database.ts';
import { listPage, type Paging, type WireAs, wireAs } from '../database/page.ts';
import { type RowFilter, resource, translateConstraintErrors } from '../database/resource.ts';
import { countOfOthers } from '../database/uses.ts';
import type { GrantKeys } from './grant-keys.ts';
import type { KeyRing, Sealed } from './key-ring.ts';
import * as sql from './tokens.sql.ts';

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
  /** The principal that the token is used for. */
  principal: string;
  /** The current destination of the value. */
  destination: Destination;
  /** The run that uses the token. */
  task_id?: string | undefined;
}

const wireUse: (row: UseRow) => WireAs<UseRow, TokenUse> = wireAs<TokenUse>();
const NOUN = 'stored token';
const context = (name: string) => `stored-token:${name}`;

/** A token as it was found, still sealed, and whether it may be sent. */
interface FoundToken extends Sealed {
  /** The login of its owner. */
  login: string | null;
  verdict: 'granted' | 'not_granted' | 'foreign';
}

function missing({ name, destination: { kind, name: resource } }: TokenRequest): AppError {
  const place = `the ${HOLDER_NOUNS[kind]} ${resource}`;
  return tokenMissing(
    `There is no stored token named ${name}, which ${place} names; store one under that name, or name another in ${place}`,
  );
}

function tokenRefusal(
  { name, destination: { kind, name: resource, label } }: TokenRequest,
  { login, verdict }: FoundToken,
): AppError {
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
  // Steps and calls of runs open tokens.
  const quick = withTimeLimit(pool, RUN_STATEMENT_MS);
  const table = resource<Row & { created_at: never; updated_at: never }>(prisma.storedToken, { noun: NOUN, has_tags: false });
  const sealToken = (name: string, value: string) => ({
    ...keys.seal(value, context(name)),
    fingerprint: keys.fingerprint(value),
  });

  return {
    /** Lists the viewer's tokens, or everyone's. */
    async list(filter: RowFilter, viewer: string, { all = false } = {}) {
      const page = await table.list(filter, all ? {} : { created_by: viewer });
      const names = page.items.map(({ name }) => name);
      const users = await listTokenHolders(prisma, names, viewer);
      return { ...page, items: page.items.map((token) => ({ ...token, used_by: users.get(token.name) ?? [] })) };
    },
    /** Finds a token. `used_by` lists the users that the viewer may see; without a viewer, those that the owner may see. */
    async find(id: string, viewer?: string) {
      const token = await table.find(id);
      return token && { ...token, used_by: (await listTokenHolders(prisma, [token.name], viewer)).get(token.name) ?? [] };
    },
    async create({ value = '', ...values }: TokenValues & { name: string }, created_by: string) {
      return { ...(await table.create({ ...values, ...sealToken(values.name, value), created_by })), used_by: [] };
    },
    async update(id: string, name: string, { value, ...values }: TokenValues) {
      const token = await table.update(id, { ...values, ...(value === undefined ? {} : sealToken(name, value)) });
      return { ...token, used_by: (await listTokenHolders(prisma, [name])).get(name) ?? [] };
    },
    remove: (id: string) => table.remove(id),
    /** Lists the resources that refer to a token, limited to those that the viewer may see. */
    listHolders: async (name: string, viewer: string) => (await listTokenHolders(prisma, [name], viewer)).get(name) ?? [],
    /** Lists the names of a principal's tokens. */
    async listNames(principal: string): Promise<string[]> {
      const where = { created_by: principal };
      const tokens = await prisma.storedToken.findMany({ where, select: { name: true }, orderBy: { name: 'asc' } });
      return tokens.map(({ name }) => name);
    },
    /** Lists the names that a principal's runs may use if granted. */
    async listUsableNames(principal: string): Promise<string[]> {
      const where = { OR: [{ created_by: principal }, { shared: true }] };
      return (await prisma.storedToken.findMany({ where, select: { name: true } })).map(({ name }) => name);
    },
    /** Opens a token to be sent; every attempt is recorded. No other place does this. Throws if it may not be sent. */
    async open(request: TokenRequest): Promise<string> {
      const { name, principal, destination, task_id = null } = request;
      const { kind, id, name: resource_name, label } = destination;
      const query = sql.openToken({
        use_id: uuid(),
        task_id,
        token_name: name,
        principal,
        resource_kind: kind,
        resource_id: id,
        resource_name,
        destination: await fingerprints.fingerprint(destination),
        destination_label: label,
        purpose: `${HOLDER_NOUNS[kind]} ${resource_name}`,
      });
      const token = await row<FoundToken>(quick, query);
      if (!token) throw missing(request);
      if (token.verdict !== 'granted') throw tokenRefusal(request, token);
      return keys.open(token, context(name));
    },
    /** Lists uses and attempted uses of a token, newest first. Excludes uses of an earlier token with the same name. */
    async uses({ name, created_at }: { name: string; created_at: string }, paging: Paging) {
      const where = { token_name: name, used_at: { gte: new Date(created_at) }, resource_kind: { not: null } };
      const page = await listPage(prisma.tokenUse, { where, paging, toItem: wireUse });
      const ids = [...new Set(page.items.map(({ principal }) => principal))];
      const logins = new Map(
        (await prisma.principal.findMany({ where: { id: { in: ids } } })).map(({ id, login }) => [id, login]),
      );
      return { ...page, items: page.items.map((use) => ({ ...use, used_by: logins.get(use.principal) ?? use.principal })) };
    },
    /**
     * Opens for redaction the tokens that a run has used, and those of these names. They are not sent, so this is not recorded as a
     * use. A token that was not used and cannot be opened is skipped: no run can open it either.
     */
    async openForRedaction(task_id: string, names: string[], principal: string): Promise<void> {
      const tokens = await rows<Sealed & { name: string; met: boolean }>(quick, sql.tokensOfRun({ task_id, names, principal }));
      for (const token of tokens) if (token.met || keys.holds(token.key_id)) keys.open(token, context(token.name));
    },
    /** Seals every value again with the active key, which is no change of a token. Returns how many changed. */
    async rotate(): Promise<number> {
      const stale_tokens = await prisma.storedToken.findMany({ where: { key_id: { not: keys.active_key_id } } });
      for (const token of stale_tokens) {
        const sealed_value = sealToken(token.name, keys.open(token as Sealed, context(token.name)));
        const data = { ...sealed_value, updated_at: token.updated_at };
        await translateConstraintErrors(NOUN, prisma.storedToken.update({ where: { id: token.id }, data }));
      }
      return stale_tokens.length;
    },
  };
}

interface TokenHolder {
  token: string;
  used_by: string;
  foreign: boolean;
}

/**
 * Lists the resources that tokens are granted to, as `noun name`. Workflows that are not the viewer's (without a viewer: the
 * token owner's) are only counted. A resource that names a token without a grant cannot use it, so it does not prevent the
 * token's deletion.
 */
async function listTokenHolders(
  prisma: PrismaClient,
  names: string[],
  viewer: string | null = null,
): Promise<Map<string, string[]>> {
  if (names.length === 0) return new Map();
  const uses = await rowsWithin<TokenHolder>(prisma, sql.tokenHolders({ names, viewer }));
  const users = new Map<string, string[]>();
  for (const [token, all] of Map.groupBy(uses, (user) => user.token)) {
    const named_users = all.filter(({ foreign }) => !foreign).map(({ used_by }) => used_by);
    users.set(token, [...named_users, ...countOfOthers(all.length - named_users.length)]);
  }
  return users;
}
