import type { Warning } from '../../contracts/common.ts';
import type { McpEntry } from '../../contracts/mcp-entries.ts';
import { type McpServer, type McpServerValues, mcps, StdioConfig, UrlConfig } from '../../contracts/mcps.ts';
import type { ImportResult } from '../../contracts/transfer.ts';
import { AppError, type FieldError } from '../../domain/errors.ts';
import { listTokenNames } from '../../domain/secrets.ts';
import type { Records } from '../../store/database/resource.ts';
import type { Store } from '../../store/index.ts';
import { createTokenChecks, type TokenChecks } from '../checks/needs.ts';
import { toClearedWarnings } from '../checks/secrets.ts';
import { getExisting, hideLastError, mountCrud, type NewRecord, refuseForeign, type SharedWrite } from '../http/crud.ts';
import { listUnreadWarnings } from '../http/fields.ts';
import { type Api, mount } from '../http/mount.ts';
import { parseWithWarnings, toReply } from '../http/validate.ts';
import type { McpProbe, McpSignIns } from '../ports.ts';
import { findMcpServers, parseMcpEntry } from './mcp-entries.ts';
import { listEntryWarnings, parseEntry, toTransport } from './mcp-import.ts';

/** Connects to MCP servers. `server` has its secrets masked; they are opened by its id. */
interface Services {
  store: Store;
  mcp: McpProbe;
  mcpSignIns: McpSignIns;
}

export function mcpRoutes(api: Api, { store, mcp, mcpSignIns }: Services, shared_write: SharedWrite): void {
  const getServer = getExisting(store.mcpServers, mcps.noun);
  const resource: Records<McpServer, NewRecord<McpServerValues>, Partial<McpServerValues>> = {
    ...store.mcpServers,
    create: (values, by) => store.mcpServers.create(withConnection(values), by),
    async update(id, values, by) {
      if (!('connection_config' in values || 'transport_type' in values)) return store.mcpServers.update(id, values, by);
      const { transport_type, connection_config } = await getServer(id);
      const connection = withConnection({ transport_type, connection_config, ...values });
      const before = await store.mcpServers.findOpened(id);
      const updated_server = await store.mcpServers.update(id, { ...connection, status: 'registered', last_error: null }, by);
      const after = await store.mcpServers.findOpened(id);
      if (getUrl(before) !== getUrl(after)) await store.mcpSignIns.removeAll(id);
      return updated_server;
    },
    async remove(id) {
      await store.mcpServers.remove(id);
      // If this process is lost in between, the reconciler removes what is left.
      await mcp.removeState(id);
    },
  };
  const tokenChecks = withSignIns(store, createTokenChecks(store, listConnectionTokens));
  mountCrud(api, mcps, {
    store: resource,
    list: (query) => store.mcpServers.list(query),
    shared_write,
    async check(values, caller, { id, warn }) {
      const { connection_config, paths } = values;
      const path_errors = await listPathErrors(mcp, paths);
      if (id) warn(...toClearedWarnings(await store.mcpServers.clears(id, values, caller.key)));
      if (!connection_config) return path_errors;
      const { transport_type } = { ...(id ? await getServer(id) : {}), ...values } as McpServer;
      warn(...listUnreadWarnings(getConnectionSchema(transport_type), connection_config, 'connection_config'));
      return path_errors;
    },
    tokenChecks: tokenChecks,
    users: ({ id }, { key }) => store.usersOf('mcpServer', id, key),
  });
  mount(api, mcps.test, async ({ params: { id } }, caller) => mcp.test(await getServer(id), caller));
  mount(api, mcps.tools, async ({ params: { id } }, caller) => mcp.loadTools(await getServer(id), caller));
  mount(api, mcps.refreshTools, async ({ params: { id } }, caller) => mcp.refresh(await getServer(id), caller));
  mount(api, mcps.prompts, async ({ params: { id } }, caller) => mcp.listPrompts(await getServer(id), caller));
  mount(api, mcps.fillPrompt, async ({ params: { id }, body }, caller) => mcp.fillPrompt(await getServer(id), body, caller));
  mount(
    api,
    mcps.allow,
    async ({ params: { id }, body: { allowed_tools } }, caller) => {
      refuseForeign({ record: await getServer(id), noun: mcps.noun, shared_write }, caller);
      const [server] = await tokenChecks.addMissingTokens(
        [await store.mcpServers.update(id, { allowed_tools }, caller.key)],
        caller,
      );
      return hideLastError(caller, server as McpServer);
    },
    { current: async ({ params: { id } }, caller) => toReply(mcps.get.reply, hideLastError(caller, await getServer(id))) },
  );
  mount(api, mcps.beginSignIn, async ({ params: { id } }, caller) => mcpSignIns.begin(await getServer(id), caller));
  mount(api, mcps.finishSignIn, ({ body }, caller) => mcpSignIns.finish(body, caller));
  mount(api, mcps.endSignIn, async ({ params: { id } }, { key: principal }) => {
    await getServer(id);
    await store.mcpSignIns.remove({ server_id: id, principal });
  });
  mount(api, mcps.clearState, async ({ params: { id } }, caller) => mcp.clearState(await getServer(id), caller));
  mount(api, mcps.import, async ({ body, warn }, caller) => {
    const result: ImportResult = { created: 0, errors: [], ids: [], warnings: [] };
    const servers: [name: string, entry: McpEntry][] = [];
    const unknown_fields: Warning[] = [];
    const noteError = (name: string, error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      result.errors.push(`${name}: ${error.message}`);
    };
    const found = findMcpServers(body);
    for (const [name, raw] of found.servers) {
      try {
        const { entry, warnings } = parseMcpEntry(name, raw);
        servers.push([name, entry]);
        unknown_fields.push(...warnings);
      } catch (error) {
        noteError(name, error);
      }
    }
    warn(...unknown_fields, ...found.unread.map((path) => ({ path, message: 'Is not part of a server; it is not read' })));
    for (const [name, entry] of servers) {
      const { type: _, transport: __, disabled: ___, allowed_tools: ____, ...connection_config } = entry;
      const token_warnings = await tokenChecks.listWarnings({ connection_config }, caller);
      const unread_warnings = listUnreadWarnings(
        getConnectionSchema(toTransport(entry)),
        connection_config,
        `mcpServers.${name}`,
      );
      warn(
        ...token_warnings.map(({ path, message }) => ({ path: `mcpServers.${name}.${path}`, message })),
        ...unread_warnings,
        ...(await listEntryWarnings(name, entry, mcp)),
      );
    }
    for (const [name, entry] of servers) {
      try {
        const values = parseEntry(name, entry);
        const server = await store.mcpServers.create(withConnection({ ...values, created_by: caller.key }), caller.key);
        result.ids.push(server.id);
        result.created += 1;
      } catch (error) {
        noteError(name, error);
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

export const toSignIn = ({ signed_in_at, expires_at, renews }: StoredSignIn) => ({
  signed_in_at: signed_in_at.toISOString(),
  expires_at: expires_at?.toISOString() ?? null,
  renews,
});

/** Adds the reader's own sign-in at each server. */
function withSignIns(
  { mcpSignIns }: Pick<Store, 'mcpSignIns'>,
  tokenChecks: TokenChecks<Partial<McpServer>>,
): typeof tokenChecks {
  return {
    listWarnings: tokenChecks.listWarnings,
    async addMissingTokens(records, caller) {
      const ids = records.flatMap(({ id = [] }) => id);
      const signIns = new Map((await mcpSignIns.listSignIns(caller.key, ids)).map((one) => [one.server_id, toSignIn(one)]));
      const full_records = await tokenChecks.addMissingTokens(records, caller);
      return full_records.map((record) => ({ ...record, sign_in: signIns.get(record.id!) ?? null }));
    },
  };
}

const getUrl = (server: McpServer | null) => (server?.connection_config as { url?: unknown } | undefined)?.url;

const getConnectionSchema = (transport_type: string) => (transport_type === 'stdio' ? StdioConfig : UrlConfig);

/**
 * Returns the server with its connection validated for its transport and defaults filled in; throws a 422 that lists the invalid
 * fields.
 */
function withConnection<S extends { transport_type: string; connection_config: unknown }>(server: S): S {
  const schema = getConnectionSchema(server.transport_type);
  const options = { what: 'connection_config', base_path: 'connection_config' };
  return { ...server, connection_config: parseWithWarnings(schema, server.connection_config, options).value };
}

async function listPathErrors(mcp: McpProbe, paths: string[] = []): Promise<FieldError[]> {
  const refusals = await Promise.all(paths.map((path) => mcp.pathRefusal(path)));
  return refusals.flatMap((message, index) => (message === null ? [] : [{ path: `paths.${index}`, message }]));
}

/** Lists the stored tokens that a connection names. */
export const listConnectionTokens = ({ connection_config }: { connection_config?: unknown }) =>
  listTokenNames(connection_config).map((token) => ({ path: 'connection_config', token }));
