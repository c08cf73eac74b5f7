import type { McpServer } from '../../contracts/mcps.ts';
import { mcpDestination } from '../../domain/destinations.ts';
import type { ToolEffect } from '../../domain/effects.ts';
import { listTokenNames } from '../../domain/secrets.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { type Database, row } from '../database/database.ts';
import type { GrantKeys } from '../secrets/grant-keys.ts';
import { saveMcpListing } from './mcp-listings.sql.ts';

/** A tool as an MCP server lists it, under the server's own name. */
export interface McpListedTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  effect: ToolEffect;
}

interface McpListing {
  tools: McpListedTool[];
  listed_at: string;
}

interface NewMcpListing {
  /** The connection that listed the tools, with sealed values opened and the names of stored tokens instead of their values. */
  server: Parameters<typeof mcpDestination>[0];
  /** The person in whose name the server was asked. */
  principal: string;
  /** True if the person's own sign-in was sent. */
  signed_in: boolean;
  tools: McpListedTool[];
}

interface Parts extends Pick<Database, 'pool'> {
  prisma: PrismaClient;
  fingerprints: GrantKeys;
  /** Returns servers with their secrets opened. */
  listOpened(where: object): Promise<McpServer[]>;
}

/**
 * Stores the last listing of each MCP server. A listing belongs to the connection that was asked: it is ignored once the server
 * is changed. A listing obtained with stored tokens or with a person's sign-in can be read by that person alone.
 */
export function mcpListingStore({ pool, prisma, fingerprints, listOpened }: Parts) {
  const fingerprintConnection = (server: NewMcpListing['server']) => fingerprints.fingerprint(mcpDestination(server));

  async function fingerprintConnections(ids: readonly string[]): Promise<Map<string, string>> {
    const servers = await listOpened({ id: { in: [...ids] } });
    return new Map(await Promise.all(servers.map(async (server) => [server.id, await fingerprintConnection(server)] as const)));
  }

  return {
    /**
     * Returns the newest listing of each server that the principal may read, by the server's id. Servers without one are missing.
     */
    async of(ids: readonly string[], principal: string): Promise<Map<string, McpListing>> {
      const connections = await fingerprintConnections(ids);
      const keys = [...connections].map(([server_id, connection]) => ({ server_id, connection }));
      if (keys.length === 0) return new Map();
      const listings = await prisma.mcpListing.findMany({
        where: { AND: [{ OR: keys }, { OR: [{ principal }, { personal: false }] }] },
        orderBy: { listed_at: 'asc' },
      });
      return new Map(
        listings.map(({ server_id, tools, listed_at }) => [
          server_id,
          { tools: tools as unknown as McpListedTool[], listed_at: listed_at.toISOString() },
        ]),
      );
    },
    /** Saves a listing. Writes nothing if the server has been changed since it was asked. */
    async save({ server, principal, signed_in, tools }: NewMcpListing): Promise<void> {
      const connection = await fingerprintConnection(server);
      if ((await fingerprintConnections([server.id])).get(server.id) !== connection) return;
      const personal = signed_in || listTokenNames(server.connection_config).length > 0;
      await row(pool, saveMcpListing({ server_id: server.id, principal, personal, connection, tools: JSON.stringify(tools) }));
    },
  };
}
