import type { Client } from '@modelcontextprotocol/client';
import { getReason } from '../../domain/reason.ts';
import { storable } from '../../domain/transcript.ts';
import { McpLost } from './failures.ts';
import { findHeaderParams } from './header-params.ts';
import { type Listing, listTools, type SchemaFaults } from './listing.ts';
import type { Requests } from './requests.ts';
import { addResourceTools } from './resources.ts';

interface ListingOptions {
  server_name: string;
  schemaFaults: SchemaFaults;
  /** True if the server says how long its list is fresh, and announces no changes. */
  is_stateless: boolean;
  /** True if arguments are sent as headers, too. */
  sends_params: boolean;
}

const LIST_MS = 20_000;
const RESOURCES_MS = 5_000;
/** The longest time for which a list is taken to be fresh, whatever the server says. */
const LONGEST_FRESH_MS = 5 * 60_000;

/** Creates the function that lists a server's tools. It keeps the list until the server announces a change, or while it is fresh. */
export function cacheListing(
  client: Client,
  { send }: Requests,
  { server_name, schemaFaults, is_stateless, sends_params }: ListingOptions,
) {
  const { tools, resources } = client.getServerCapabilities()!;
  const announces_changes = !is_stateless && [tools, resources].every((one) => !one || one.listChanged === true);
  let cached: { listing: Listing; fresh_until: number; changes: number } | null = null;
  let changes = 0;
  for (const kind of ['tools', 'resources'] as const)
    client.setNotificationHandler(`notifications/${kind}/list_changed`, () => {
      changes += 1;
    });
  const findObstacle = (schema: unknown) => {
    const params = sends_params ? findHeaderParams(schema) : [];
    return typeof params === 'string' ? params : null;
  };
  return async (signal: AbortSignal): Promise<Listing> => {
    if (cached?.changes === changes && performance.now() < cached.fresh_until) return cached.listing;
    const changes_before = changes;
    let fresh_ms = announces_changes ? Number.POSITIVE_INFINITY : 0;
    const ask = async (params: object) => {
      const page = await send({ method: 'tools/list', params }, { signal, expiry: AbortSignal.timeout(LIST_MS) });
      if (is_stateless) fresh_ms = readFreshMs(page);
      return page;
    };
    const listing = tools ? await listTools(ask, { schemaFaults, findObstacle }) : createEmptyListing();
    const askResources: Parameters<typeof addResourceTools>[2] = (request) =>
      send(request, { signal, expiry: AbortSignal.timeout(RESOURCES_MS) });
    if (resources)
      await addResourceTools(listing, server_name, askResources).catch((error: unknown) => {
        // A server that has just listed its tools may answer 404 because it does not know the method.
        if (error instanceof McpLost && !error.sent && !(tools && error.status === 404)) throw error;
        listing.problems.push(storable(`Its resources cannot be listed: ${getReason(error)}`));
        fresh_ms = 0;
      });
    cached = { listing, fresh_until: performance.now() + fresh_ms, changes: changes_before };
    return listing;
  };
}

const createEmptyListing = (): Listing => ({ tools: [], problems: [], refused_tools: [] });

function readFreshMs(page: object): number {
  const { ttlMs } = page as { ttlMs?: unknown };
  return typeof ttlMs === 'number' ? Math.min(ttlMs, LONGEST_FRESH_MS) : 0;
}
