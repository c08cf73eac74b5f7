import type { Client } from '@modelcontextprotocol/client';
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
  const { tools, resources } = client.getServerCapabilities() ?? {};
  let cached: { listing: Listing; fresh_until: number } | null = null;
  client.setNotificationHandler('notifications/tools/list_changed', () => {
    cached = null;
  });
  const findObstacle = (schema: unknown) => {
    const params = sends_params ? findHeaderParams(schema) : [];
    return typeof params === 'string' ? params : null;
  };
  return async (signal: AbortSignal): Promise<Listing> => {
    if (cached && performance.now() < cached.fresh_until) return cached.listing;
    let fresh_ms = tools?.listChanged && !is_stateless ? Number.POSITIVE_INFINITY : 0;
    const ask = async (params: object) => {
      const page = await send({ method: 'tools/list', params }, { signal, expiry: AbortSignal.timeout(LIST_MS) });
      if (is_stateless) fresh_ms = readFreshMs(page);
      return page;
    };
    const listing = tools ? await listTools(ask, { schemaFaults, findObstacle }) : createEmptyListing();
    const askResources: Parameters<typeof addResourceTools>[2] = (request) =>
      send(request, { signal, expiry: AbortSignal.timeout(RESOURCES_MS) });
    if (resources) await addResourceTools(listing, server_name, askResources);
    cached = { listing, fresh_until: performance.now() + fresh_ms };
    return listing;
  };
}

const createEmptyListing = (): Listing => ({ tools: [], problems: [], refused_tools: [] });

function readFreshMs(page: object): number {
  const { ttlMs } = page as { ttlMs?: unknown };
  return typeof ttlMs === 'number' ? Math.min(ttlMs, LONGEST_FRESH_MS) : 0;
}
