import type { FullExportBundle, PerduraClient } from '../../client/index.ts';
import { DECLARED_KINDS, type Declared, type DeclaredKind, type Fields, LISTS, type NamedType } from './kinds.ts';

export interface Installed {
  kind: DeclaredKind;
  id: string;
  title: string | null;
  fields: Fields;
}

/** The state of an installation: everything that can be declared, and the names of everything that declarations may refer to. */
export interface World {
  installed: Installed[];
  /** Ids by name. */
  others: Map<NamedType, Map<string, string[]>>;
}

/** Reads the state of an installation. Of the kinds that cannot be declared, it reads only those that the files name. */
export async function readWorld(client: PerduraClient, declared_items: Declared[]): Promise<World> {
  const bundle = await client.request('GET /api/export');
  const installed = DECLARED_KINDS.flatMap((kind) => toInstalled(bundle, kind));
  const named_types = new Set(
    declared_items.flatMap(({ kind, fields }) => Object.keys(fields).flatMap((field) => kind.names[field]?.of ?? [])),
  );
  const others = new Map<NamedType, Map<string, string[]>>();
  for (const of of named_types)
    others.set(
      of,
      of in LISTS
        ? await loadIds(client, LISTS[of as keyof typeof LISTS])
        : indexByName(installed.filter((one) => one.kind.type === of)),
    );
  return { installed, others };
}

function toInstalled(bundle: FullExportBundle, kind: DeclaredKind): Installed[] {
  const items = (bundle as unknown as Record<string, (Fields & { id: string })[]>)[kind.part] ?? [];
  return items.map(({ id, ...fields }) => ({ kind, id, title: (fields[kind.title] as string | null) ?? null, fields }));
}

async function loadIds(client: PerduraClient, route: (typeof LISTS)[keyof typeof LISTS]): Promise<Map<string, string[]>> {
  const titles: { id: string; title: string }[] = [];
  for await (const { id, name } of client.items(route)) titles.push({ id, title: name });
  return indexByName(titles);
}

function indexByName(items: { id: string; title: string | null }[]): Map<string, string[]> {
  const names = new Map<string, string[]>();
  // Only workflows may have no title, and no file names them.
  for (const { id, title } of items as { id: string; title: string }[]) names.set(title, [...(names.get(title) ?? []), id]);
  return names;
}

/**
 * Returns the ids of what the caller made: only that can be pruned. Workflows that serve a single request are not listed, and
 * so are never pruned.
 */
export async function ownIds(client: PerduraClient, kinds: readonly DeclaredKind[]): Promise<Set<string>> {
  const me = await client.request('GET /api/me');
  const ids = new Set<string>();
  for (const { path, type } of kinds)
    for await (const record of client.items(`GET ${path}` as 'GET /api/skills'))
      if (type === 'workflow' || record.created_by === me.id) ids.add(record.id);
  return ids;
}
