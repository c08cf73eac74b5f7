import {
  type McpEntry,
  type McpServer,
  McpServerCreate,
  type McpTest,
  type McpTool,
  mcps,
  StdioConfig,
  UrlConfig,
} from '../contracts/mcps.ts';
import type { ImportResult } from '../contracts/transfer.ts';
import { AppError, type FieldError, unprocessable } from '../domain/errors.ts';
import { tokensIn } from '../domain/secrets.ts';
import type { Store } from '../store/index.ts';
import type { Resource } from '../store/resource.ts';
import type { Caller } from './auth.ts';
import { foundIn, mountCrud, refuseForeign, type SharedWrite } from './crud.ts';
import { type Api, mount } from './mount.ts';

/** Reaches MCP servers. `server` comes as it is shown; its secrets are opened by id. */
export interface McpProbe {
  /** Reports in its answer what went wrong. */
  test(server: McpServer, caller: Caller): Promise<McpTest>;
  /** Throws an upstream error when the server cannot be reached. */
  tools(server: McpServer, caller: Caller): Promise<McpTool[]>;
}

interface Services {
  store: Store;
  mcp: McpProbe;
}

export function mcpRoutes(api: Api, { store, mcp }: Services, shared_write: SharedWrite): void {
  const found = foundIn(store.mcpServers, mcps.noun);
  const resource: Resource<McpServer> = {
    ...store.mcpServers,
    create: (values) => store.mcpServers.create(withConnection(values as McpServer)),
    async update(id, values) {
      if (!('connection_config' in values || 'transport_type' in values)) return store.mcpServers.update(id, values);
      const { transport_type, connection_config } = await found(id);
      const connection = withConnection({ transport_type, connection_config, ...(values as Partial<McpServer>) });
      return store.mcpServers.update(id, { ...connection, status: 'registered', last_error: null });
    },
  };
  mountCrud(api, mcps, {
    store: resource,
    shared_write,
    check: ({ connection_config }) => unknownTokensIn(store, connection_config),
    users: ({ id }) => store.usersOf('mcpServer', id),
  });
  mount(api, mcps.test, async ({ params: { id } }, caller) => mcp.test(await found(id), caller));
  mount(api, mcps.tools, async ({ params: { id } }, caller) => ({ tools: await mcp.tools(await found(id), caller) }));
  mount(api, mcps.allow, async ({ params: { id }, body: { allowed_tools } }, caller) => {
    refuseForeign({ record: await found(id), noun: mcps.noun, shared_write }, caller);
    return store.mcpServers.update(id, { allowed_tools });
  });
  mount(api, mcps.import, async ({ body: { mcpServers } }, caller) => {
    const result: ImportResult = { created: 0, errors: [], ids: [], warnings: [] };
    for (const [name, entry] of Object.entries(mcpServers)) {
      try {
        const values = serverOf(name, entry);
        const errors = await unknownTokensIn(store, values.connection_config);
        if (errors.length > 0) throw unprocessable(errors);
        const { id } = await store.mcpServers.create(withConnection({ ...values, created_by: caller.key }));
        result.ids.push(id);
        result.created += 1;
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        result.errors.push(`${name}: ${error.message}`);
      }
    }
    return result;
  });
}

/** An entry of the common JSON: with a command it is a program, with a URL a server elsewhere. */
function serverOf(name: string, { type, transport = type, command, args = [], env = {}, url, headers = {} }: McpEntry) {
  const transport_type = command ? 'stdio' : transport === 'sse' ? 'sse' : 'http';
  const connection_config = command ? { command, args, env } : { url, headers };
  const parsed = McpServerCreate.safeParse({ name, transport_type, connection_config });
  if (parsed.success) return parsed.data;
  throw unprocessable(parsed.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })));
}

/** With the connection of its transport, complete; 422 names what is wrong in it. */
function withConnection<S extends { transport_type: string; connection_config: unknown }>(server: S): S {
  const schema = server.transport_type === 'stdio' ? StdioConfig : UrlConfig;
  const parsed = schema.safeParse(server.connection_config);
  if (parsed.success) return { ...server, connection_config: parsed.data };
  throw unprocessable(
    parsed.error.issues.map(({ path, message }) => ({ path: ['connection_config', ...path].join('.'), message })),
  );
}

/** A message for each stored token that a configuration names and that does not exist. */
export async function unknownTokensIn(store: Pick<Store, 'tokens'>, config: unknown): Promise<FieldError[]> {
  const names = tokensIn(config);
  const known = names.length > 0 ? await store.tokens.existing(names) : new Set<string>();
  return names
    .filter((name) => !known.has(name))
    .map((name) => ({ path: 'connection_config', message: `There is no stored token named ${name}` }));
}
