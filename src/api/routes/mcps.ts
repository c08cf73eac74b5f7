import { type McpServer, type McpServerValues, mcps, StdioConfig, UrlConfig } from '../../contracts/mcps.ts';
import type { ImportResult } from '../../contracts/transfer.ts';
import { AppError, type FieldError } from '../../domain/errors.ts';
import { tokensIn } from '../../domain/secrets.ts';
import type { Records } from '../../store/database/resource.ts';
import type { Store } from '../../store/index.ts';
import { type TokenNeeds, tokenNeeds } from '../checks/needs.ts';
import { clearedIn } from '../checks/secrets.ts';
import { foundIn, mountCrud, type NewRecord, refuseForeign, type SharedWrite, shownTo } from '../http/crud.ts';
import { unreadIn } from '../http/fields.ts';
import { type Api, mount } from '../http/mount.ts';
import { judged } from '../http/validate.ts';
import type { McpProbe, McpSignIns } from '../ports.ts';
import { entryDoubts, serverOfEntry, transportOfEntry } from './mcp-import.ts';

/** Connects to MCP servers. `server` has its secrets masked; they are opened by its id. */
interface Services {
  store: Store;
  mcp: McpProbe;
  mcpSignIns: McpSignIns;
}

export function mcpRoutes(api: Api, { store, mcp, mcpSignIns }: Services, shared_write: SharedWrite): void {
  const found = foundIn(store.mcpServers, mcps.noun);
  const resource: Records<McpServer, NewRecord<McpServerValues>, Partial<McpServerValues>> = {
    ...store.mcpServers,
    create: (values, by) => store.mcpServers.create(withConnection(values), by),
    async update(id, values, by) {
      if (!('connection_config' in values || 'transport_type' in values)) return store.mcpServers.update(id, values, by);
      const { transport_type, connection_config } = await found(id);
      const connection = withConnection({ transport_type, connection_config, ...values });
      const before = await store.mcpServers.opened(id);
      const changed = await store.mcpServers.update(id, { ...connection, status: 'registered', last_error: null }, by);
      const after = await store.mcpServers.opened(id);
      if (urlIn(before) !== urlIn(after)) await store.mcpSignIns.removeAll(id);
      return changed;
    },
  };
  const needs = withSignIns(store, tokenNeeds(store, connectionTokens));
  mountCrud(api, mcps, {
    store: resource,
    list: (query) => store.mcpServers.list(query),
    shared_write,
    async check(values, caller, { id, warn }) {
      const { connection_config, paths } = values;
      const refused = await refusedPaths(mcp, paths);
      if (id) warn(...clearedIn(await store.mcpServers.clears(id, values, caller.key)));
      if (!connection_config) return refused;
      const { transport_type } = { ...(id ? await found(id) : {}), ...values } as McpServer;
      warn(...unreadIn(connectionOf(transport_type), connection_config, 'connection_config'));
      return refused;
    },
    needs,
    users: ({ id }, { key }) => store.usersOf('mcpServer', id, key),
  });
  mount(api, mcps.test, async ({ params: { id } }, caller) => mcp.test(await found(id), caller));
  mount(api, mcps.tools, async ({ params: { id } }, caller) => mcp.listed(await found(id), caller));
  mount(api, mcps.refreshTools, async ({ params: { id } }, caller) => mcp.refresh(await found(id), caller));
  mount(api, mcps.allow, async ({ params: { id }, body: { allowed_tools } }, caller) => {
    refuseForeign({ record: await found(id), noun: mcps.noun, shared_write }, caller);
    const [changed] = await needs.shown([await store.mcpServers.update(id, { allowed_tools }, caller.key)], caller);
    return shownTo(caller, changed as McpServer);
  });
  mount(api, mcps.beginSignIn, async ({ params: { id } }, caller) => mcpSignIns.begin(await found(id), caller));
  mount(api, mcps.finishSignIn, ({ body }, caller) => mcpSignIns.finish(body, caller));
  mount(api, mcps.endSignIn, async ({ params: { id } }, { key: principal }) => {
    await found(id);
    await store.mcpSignIns.remove({ server_id: id, principal });
  });
  mount(api, mcps.import, async ({ body: { mcpServers }, warn }, caller) => {
    for (const [name, entry] of Object.entries(mcpServers)) {
      const { type: _, transport: __, disabled: ___, ...connection_config } = entry;
      const doubts = await needs.doubts({ connection_config }, caller);
      const unread = unreadIn(connectionOf(transportOfEntry(entry)), connection_config, `mcpServers.${name}`);
      warn(
        ...doubts.map(({ path, message }) => ({ path: `mcpServers.${name}.${path}`, message })),
        ...unread,
        ...(await entryDoubts(name, entry, mcp)),
      );
    }
    const result: ImportResult = { created: 0, errors: [], ids: [], warnings: [] };
    for (const [name, entry] of Object.entries(mcpServers)) {
      try {
        const values = serverOfEntry(name, entry);
        const server = await store.mcpServers.create(withConnection({ ...values, created_by: caller.key }), caller.key);
        result.ids.push(server.id);
        result.created += 1;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        result.errors.push(`${name}: ${error.message}`);
      }
    }
    return result;
  });
}

interface StoredSignIn {
  signed_in_at: Date;
  expires_at: Date | null;
  renews: boolean;
}

export const shownSignIn = ({ signed_in_at, expires_at, renews }: StoredSignIn) => ({
  signed_in_at: signed_in_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
  renews,
});

/** Adds the reader's own sign-in at each server. */
function withSignIns({ mcpSignIns }: Pick<Store, 'mcpSignIns'>, needs: TokenNeeds<Partial<McpServer>>): typeof needs {
  return {
    doubts: needs.doubts,
    async shown(records, caller) {
      const ids = records.flatMap(({ id = [] }) => id);
      const signIns = new Map((await mcpSignIns.of(caller.key, ids)).map((one) => [one.server_id, shownSignIn(one)]));
      const shown = await needs.shown(records, caller);
      return shown.map((record) => ({ ...record, sign_in: signIns.get(record.id ?? '') ?? null }));
    },
  };
}

const urlIn = (server: McpServer | null) => (server?.connection_config as { url?: unknown } | undefined)?.url;

const connectionOf = (transport_type: string) => (transport_type === 'stdio' ? StdioConfig : UrlConfig);

/** The server with its connection validated for its transport and defaults filled in; 422 lists the invalid fields. */
function withConnection<S extends { transport_type: string; connection_config: unknown }>(server: S): S {
  const schema = connectionOf(server.transport_type);
  const judging = { what: 'connection_config', within: 'connection_config' };
  return { ...server, connection_config: judged(schema, server.connection_config, judging).value };
}

async function refusedPaths(mcp: McpProbe, paths: string[] = []): Promise<FieldError[]> {
  const refusals = await Promise.all(paths.map((path) => mcp.pathRefusal(path)));
  return refusals.flatMap((message, index) => (message === null ? [] : [{ path: `paths.${index}`, message }]));
}

/** The stored tokens that a connection names. */
export const connectionTokens = ({ connection_config }: { connection_config?: unknown }) =>
  tokensIn(connection_config).map((token) => ({ path: 'connection_config', token }));
