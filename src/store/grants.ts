import { v7 as uuid } from 'uuid';
import { type Asked, asked, HOLDER_NOUNS, type SecretHolder } from '../domain/destinations.ts';
import { conflict } from '../domain/errors.ts';
import type { PrismaClient } from '../generated/prisma/client.ts';
import type { connectionStores } from './connections.ts';
import { type Database, row } from './database.ts';
import type { GrantKeys } from './grant-keys.ts';

/** A resource that may name stored tokens. */
interface Holder {
  kind: SecretHolder;
  id: string;
}

/** What a token's owner sees: where it may go, and where it is asked for. */
interface GrantOfToken {
  id: string | null;
  /** `granted`; `asked`: it is named there and its owner has not agreed; `outdated`: granted, and the resource has changed since. */
  status: 'granted' | 'asked' | 'outdated';
  resource_type: SecretHolder;
  resource_id: string;
  resource_name: string;
  destination_label: string;
  destination: string;
  granted_at: string | null;
}

/* $1 principal, $2 kind, $3 id, $4 what is asked for now. One statement, so that no moment has both or neither. */
const RENEW = {
  name: 'renew_grants',
  text: `WITH wanted AS (
      SELECT * FROM jsonb_to_recordset($4::jsonb) AS w (id uuid, token_name text, destination text, label text)),
    ended AS (
      UPDATE secret_grants g SET superseded_at = now()
      WHERE granted_by = $1 AND resource_kind = $2 AND resource_id = $3 AND superseded_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM wanted w WHERE w.token_name = g.token_name AND w.destination = g.destination))
    INSERT INTO secret_grants (id, token_name, granted_by, resource_kind, resource_id, destination, destination_label)
    SELECT w.id, w.token_name, $1, $2, $3, w.destination, w.label FROM wanted w
    WHERE NOT EXISTS (SELECT 1 FROM secret_grants g WHERE g.granted_by = $1 AND g.resource_kind = $2 AND g.resource_id = $3
      AND g.superseded_at IS NULL AND g.token_name = w.token_name AND g.destination = w.destination)`,
};

interface Parts extends Pick<Database, 'pool' | 'prisma'> {
  fingerprints: GrantKeys;
  connections: ReturnType<typeof connectionStores>;
}

export function grantStore({ pool, prisma, fingerprints, connections }: Parts) {
  const resources = askingResources(prisma, connections);

  const fingerprinted = (wanted: readonly Asked[]) =>
    Promise.all(
      wanted.map(async ({ token, destination }) => ({
        ...{ id: uuid(), token_name: token, label: destination.label },
        destination: await fingerprints.fingerprint(destination),
      })),
    );

  /** A principal saved a resource: what it asks for now is granted by them, what they granted it before ends. */
  async function renew(principal: string, { kind, id }: Holder, wanted: readonly Asked[]): Promise<void> {
    await row(pool, RENEW, [principal, kind, id, JSON.stringify(await fingerprinted(wanted))]);
  }

  /** Where a token is asked for and where it may go, of what its owner can see. */
  async function ofToken({ name, created_by }: TokenOfOwner): Promise<GrantOfToken[]> {
    const given = await prisma.secretGrant.findMany({
      where: { token_name: name, granted_by: created_by, superseded_at: null },
      orderBy: { id: 'asc' },
    });
    const wanted = await Promise.all(
      (await resources.asking(name, created_by)).map(async ({ destination }) => ({
        ...destination,
        fingerprint: await fingerprints.fingerprint(destination),
      })),
    );
    const same = (grant: (typeof given)[number], { kind, id, fingerprint }: (typeof wanted)[number]) =>
      grant.resource_kind === kind && grant.resource_id === id && grant.destination === fingerprint;
    const nameOf = (id: string) => wanted.find((one) => one.id === id)?.name ?? id;
    return [
      ...given.map(
        (grant): GrantOfToken => ({
          id: grant.id,
          status: wanted.some((one) => same(grant, one)) ? 'granted' : 'outdated',
          resource_type: grant.resource_kind as SecretHolder,
          resource_id: grant.resource_id,
          resource_name: nameOf(grant.resource_id),
          destination_label: grant.destination_label,
          destination: grant.destination,
          granted_at: grant.created_at.toISOString(),
        }),
      ),
      ...wanted
        .filter((one) => !given.some((grant) => same(grant, one)))
        .map(
          (one): GrantOfToken => ({
            ...{ id: null, status: 'asked', resource_type: one.kind, resource_id: one.id, resource_name: one.name },
            ...{ destination_label: one.label, destination: one.fingerprint, granted_at: null },
          }),
        ),
    ];
  }

  return {
    renew,
    ofToken,
    /** Renews for resources that were just made, by their ids. */
    async renewMade(principal: string, kind: 'workflow' | 'knowledge_source', ids: readonly string[]): Promise<void> {
      for (const id of ids) await renew(principal, { kind, id }, await resources.of({ kind, id }));
    },
    /** What a workflow asks for depends on the tools of its agent. */
    async renewWorkflow(principal: string, workflow: Parameters<typeof asked.workflow>[0] & { agent_id: string }) {
      const tools = await resources.toolsOf(workflow.agent_id);
      await renew(principal, { kind: 'workflow', id: workflow.id }, asked.workflow(workflow, tools));
    },
    /** Grants exactly the destination that the owner has seen; 409 when the resource has changed since. */
    async give(token: TokenOfOwner, { kind, id, destination }: Holder & { destination: string }): Promise<GrantOfToken> {
      const seen = (one: GrantOfToken) =>
        one.resource_type === kind && one.resource_id === id && one.destination === destination && one.status !== 'outdated';
      const found = (await ofToken(token)).find(seen);
      if (!found)
        throw conflict(
          'The resource does not ask for this token at that destination now; read the grants again',
          'grant_outdated',
        );
      if (found.status === 'granted') return found;
      const made = await prisma.secretGrant.create({
        data: {
          ...{ id: uuid(), token_name: token.name, granted_by: token.created_by, resource_kind: kind, resource_id: id },
          ...{ destination, destination_label: found.destination_label },
        },
      });
      return { ...found, id: made.id, status: 'granted', granted_at: made.created_at.toISOString() };
    },
    /** Takes a grant back, from runs in progress as well. False: the token has no such grant. */
    async revoke({ name, created_by }: TokenOfOwner, id: string): Promise<boolean> {
      const { count } = await prisma.secretGrant.deleteMany({ where: { id, token_name: name, granted_by: created_by } });
      return count > 0;
    },
    /** Grants what resources ask for of their own creators' tokens: once, for what was there before grants were. */
    async grantExisting(): Promise<void> {
      if (await fingerprints.existingGranted()) return;
      const owners = new Map((await prisma.storedToken.findMany()).map(({ name, created_by }) => [name, created_by]));
      for (const { saved_by, holder, wanted } of await resources.all()) {
        const own = wanted.filter(({ token }) => owners.get(token) === saved_by);
        if (own.length > 0) await renew(saved_by, holder, own);
      }
      await fingerprints.noteExistingGranted();
    },
    /** What resources name of stored tokens that their owners have not granted them, as sentences. */
    async ungranted(): Promise<string[]> {
      const owners = new Map((await prisma.storedToken.findMany()).map(({ name, created_by }) => [name, created_by]));
      const given = await prisma.secretGrant.findMany({ where: { superseded_at: null } });
      const known = new Set(given.map((one) => [one.token_name, one.granted_by, one.resource_id, one.destination].join(' ')));
      const sentences: string[] = [];
      for (const { token, destination } of (await resources.all()).flatMap(({ wanted }) => wanted)) {
        const owner = owners.get(token);
        const place = [token, owner, destination.id, await fingerprints.fingerprint(destination)].join(' ');
        if (owner && !known.has(place)) sentences.push(`${token} to the ${HOLDER_NOUNS[destination.kind]} ${destination.name}`);
      }
      return [...new Set(sentences)];
    },
  };
}

interface TokenOfOwner {
  name: string;
  created_by: string;
}

interface Asking {
  holder: Holder;
  /** Who made the resource. */
  saved_by: string;
  wanted: Asked[];
}

/** Resources as they are now, with what they ask for. */
function askingResources(prisma: PrismaClient, { mcpServers, knowledgeSources }: Parts['connections']) {
  async function toolsOf(agent_id: string) {
    const agent = await prisma.agent.findUnique({ where: { id: agent_id }, select: { custom_tool_ids: true } });
    return prisma.customTool.findMany({ where: { id: { in: agent?.custom_tool_ids ?? [] } } });
  }

  const readers: Record<SecretHolder, (where: object) => Promise<Asking[]>> = {
    provider: async (where) =>
      (await prisma.provider.findMany({ where: { api_key_token_name: { not: null }, ...where } })).map((found) => ({
        ...{ holder: { kind: 'provider', id: found.id }, saved_by: found.created_by, wanted: asked.provider(found) },
      })),
    custom_tool: async (where) =>
      (await prisma.customTool.findMany({ where })).map((found) => ({
        holder: { kind: 'custom_tool', id: found.id },
        saved_by: found.created_by,
        wanted: asked.custom_tool(found as never),
      })),
    mcp_server: async (where) =>
      (await mcpServers.openedAll(where)).map((found) => ({
        ...{ holder: { kind: 'mcp_server', id: found.id }, saved_by: found.created_by, wanted: asked.mcp_server(found) },
      })),
    knowledge_source: async (where) =>
      (await knowledgeSources.openedAll(where)).map((found) => ({
        holder: { kind: 'knowledge_source', id: found.id },
        saved_by: found.created_by,
        wanted: asked.knowledge_source(found),
      })),
    async workflow(where) {
      const naming = { OR: [{ repo_token_name: { not: null } }, { credential_overrides: { not: {} } }] };
      const found = await prisma.workflow.findMany({ where: { AND: [naming, where] } });
      return Promise.all(
        found.map(async (workflow) => ({
          holder: { kind: 'workflow' as const, id: workflow.id },
          saved_by: workflow.owner,
          wanted: asked.workflow(workflow, await toolsOf(workflow.agent_id)),
        })),
      );
    },
  };

  const all = async (where: Partial<Record<SecretHolder, object>> = {}) =>
    (await Promise.all(Object.entries(readers).map(([kind, read]) => read(where[kind as SecretHolder] ?? {})))).flat();

  return {
    toolsOf,
    all: () => all(),
    of: async ({ kind, id }: Holder): Promise<Asked[]> => (await readers[kind]({ id })).flatMap(({ wanted }) => wanted),
    /** Who names a token. Workflows are their owner's alone, so those of others are not shown. */
    asking: async (token: string, owner: string): Promise<Asked[]> =>
      (await all({ workflow: { owner }, provider: { api_key_token_name: token } }))
        .flatMap(({ wanted }) => wanted)
        .filter((one) => one.token === token),
  };
}
