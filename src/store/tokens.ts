import { v7 as uuid } from 'uuid';
import type { PrismaClient, StoredToken as Row } from '../generated/prisma/client.ts';
import { type Database, row } from './database.ts';
import type { KeyRing, Sealed } from './key-ring.ts';
import { type Filter, refused, resource } from './resource.ts';

interface TokenValues {
  name?: string;
  value?: string | undefined;
  description?: string | undefined;
  shared?: boolean | undefined;
}

export interface TokenRequest {
  name: string;
  /** The principal in whose name it is used. */
  principal: string;
  /** For the audit, such as `tool weather`. */
  purpose: string;
  task_id?: string | undefined;
}

export type Opened = { value: string } | { refusal: string };

const NOUN = 'stored token';
const context = (name: string) => `stored-token:${name}`;

export type TokenStore = ReturnType<typeof tokenStore>;

/** One statement, because every step of a run with a provider's key goes through it. */
const OPEN = {
  name: 'open_token',
  text: `WITH token AS (SELECT sealed, key_id, shared OR created_by = $3 AS granted FROM stored_tokens WHERE name = $2),
    used AS (
      INSERT INTO token_uses (id, token_name, principal, purpose, task_id, granted)
      SELECT $1, $2, $3, $4, $5, coalesce((SELECT granted FROM token), false))
    SELECT sealed, key_id, granted FROM token`,
};

export function tokenStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>, keys: KeyRing) {
  const table = resource<Row & { created_at: never; updated_at: never }>(prisma.storedToken, { noun: NOUN, tagged: false });
  const sealed = (name: string, value: string) => ({ ...keys.seal(value, context(name)), fingerprint: keys.fingerprint(value) });

  /** The one place where a stored token is opened; every attempt is kept. */
  async function open({ name, principal, purpose, task_id }: TokenRequest): Promise<Opened> {
    const values = [uuid(), name, principal, purpose, task_id ?? null];
    const token = await row<Sealed & { granted: boolean }>(pool, OPEN, values);
    if (!token) return { refusal: `There is no stored token named ${name}` };
    if (!token.granted) return { refusal: `The stored token ${name} belongs to someone else and is not shared` };
    return { value: keys.open(token, context(name)) };
  }

  return {
    async list(filter: Filter) {
      const page = await table.list(filter);
      const users = await usersOf(
        prisma,
        page.items.map(({ name }) => name),
      );
      return { ...page, items: page.items.map((token) => ({ ...token, used_by: users.get(token.name) ?? [] })) };
    },
    async find(id: string) {
      const token = await table.find(id);
      return token && { ...token, used_by: (await usersOf(prisma, [token.name])).get(token.name) ?? [] };
    },
    async create({ value = '', ...values }: TokenValues & { name: string }, created_by: string) {
      return { ...(await table.create({ ...values, ...sealed(values.name, value), created_by })), used_by: [] };
    },
    async update(id: string, name: string, { value, ...values }: TokenValues) {
      const token = await table.update(id, { ...values, ...(value === undefined ? {} : sealed(name, value)) });
      return { ...token, used_by: (await usersOf(prisma, [name])).get(name) ?? [] };
    },
    remove: (id: string) => table.remove(id),
    usersOf: async (name: string) => (await usersOf(prisma, [name])).get(name) ?? [],
    /** Names a principal may use. */
    async usableBy(principal: string): Promise<string[]> {
      const found = await prisma.storedToken.findMany({
        where: { OR: [{ created_by: principal }, { shared: true }] },
        select: { name: true },
        orderBy: { name: 'asc' },
      });
      return found.map(({ name }) => name);
    },
    async existing(names: string[]): Promise<Set<string>> {
      const found = await prisma.storedToken.findMany({ where: { name: { in: names } }, select: { name: true } });
      return new Set(found.map(({ name }) => name));
    },
    open,
    /** The value of a stored token; throws a sentence where it may not be used. */
    async valueOf(request: TokenRequest): Promise<string> {
      const opened = await open(request);
      if ('refusal' in opened) throw new Error(opened.refusal);
      return opened.value;
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

/** What refers to tokens by name, as `noun name`. */
async function usersOf(prisma: PrismaClient, names: string[]): Promise<Map<string, string[]>> {
  if (names.length === 0) return new Map();
  const found = await prisma.$queryRaw<{ token: string; used_by: string }[]>`
    SELECT api_key_token_name AS token, 'provider ' || name AS used_by FROM providers WHERE api_key_token_name = ANY (${names})
    UNION SELECT e.value ->> 'token_name', 'custom tool ' || t.name FROM custom_tools t, jsonb_each(t.env_config) e
      WHERE e.value ->> 'token_name' = ANY (${names})
    UNION SELECT repo_token_name, 'workflow ' || coalesce(title, id::text) FROM workflows WHERE repo_token_name = ANY (${names})
    UNION SELECT e.value, 'workflow ' || coalesce(w.title, w.id::text) FROM workflows w, jsonb_each_text(w.credential_overrides) e
      WHERE e.value = ANY (${names})
    UNION SELECT n.name, 'MCP server ' || m.name FROM mcp_servers m, unnest(${names}::text[]) AS n (name)
      WHERE position('{{token:' || n.name || '}}' IN m.connection_config::text) > 0
    UNION SELECT n.name, 'knowledge source ' || k.name FROM knowledge_sources k, unnest(${names}::text[]) AS n (name)
      WHERE position('{{token:' || n.name || '}}' IN k.connection_config::text) > 0
    ORDER BY 2`;
  const users = new Map<string, string[]>();
  for (const { token, used_by } of found) users.set(token, [...(users.get(token) ?? []), used_by]);
  return users;
}
