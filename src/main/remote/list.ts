import type { PerduraClient } from '../../client/index.ts';
import type { Config } from '../config.ts';
import { sayJson } from '../terminal.ts';
import { countOf, parseCommand } from './options.ts';
import { remoteClient } from './place.ts';
import { sayTable } from './table.ts';

type ListRoute = Parameters<PerduraClient['items']>[0];

interface Listing<Item> {
  route: ListRoute;
  titles: string[];
  row(item: Item): string[];
}

/** `perdura NAME ls`: lists the items of a route as a table, or as JSON. */
export const listCommand =
  <Item>(name: string, { route, titles, row }: Listing<Item>) =>
  async (config: Config, args: string[]): Promise<void> => {
    const given = parseCommand(name, args);
    const limit = countOf(given, name);
    const found = await loadItems<Item>(await remoteClient(config), route, limit);
    if (given.has('json')) sayJson(found);
    else sayTable(titles, found.map(row));
  };

/** Loads at most `limit` items of a list, page after page; all of them without a limit. */
export async function loadItems<Item>(
  client: PerduraClient,
  route: ListRoute,
  limit = Infinity,
  query: object = {},
): Promise<Item[]> {
  const found: Item[] = [];
  const page = Math.min(limit, 1_000);
  for await (const item of client.items(route, { query: { limit: page, ...query } } as never))
    if (found.push(item as Item) >= limit) break;
  return found;
}
