import type { z } from 'zod';
import {
  BUNDLE_VERSION,
  bundle,
  EXPORTED,
  type FullImport,
  type ImportResult,
  type ResourceType,
  transfers,
} from '../contracts/transfer.ts';
import { foreign, notFound } from '../domain/errors.ts';
import type { Store } from '../store/index.ts';
import type { PartName } from '../store/transfer-drafts.ts';
import type { Caller } from './auth.ts';
import { type Api, mount } from './mount.ts';

const PART: Record<ResourceType, PartName> = {
  skill: 'skills',
  agent: 'agents',
  workflow: 'workflows',
  knowledge_source: 'knowledge_sources',
};

export function transferRoutes(api: Api, { store }: { store: Store }): void {
  for (const type of Object.keys(transfers) as ResourceType[]) resourceTransfer(api, store, type);
  const exported = exporter(store);
  mount(api, bundle.export, async (_, caller) => {
    const [skills, agents, workflows, knowledge_sources] = await Promise.all([
      exported('skill', caller),
      exported('agent', caller),
      exported('workflow', caller),
      exported('knowledge_source', caller),
    ]);
    return { ...head(), resource_type: 'bundle' as const, skills, agents, workflows, knowledge_sources } as never;
  });
  mount(api, bundle.import, async ({ body, raw_body, query: { dry_run } }, caller) => {
    const results = await store.transfer.import(body, { importer: caller, dry_run });
    for (const [type, part] of Object.entries(PART) as [ResourceType, PartName][])
      results[part].warnings.push(...unknownFields(type, (raw_body as Partial<FullImport>)[part]));
    return results;
  });
}

function resourceTransfer(api: Api, store: Store, type: ResourceType): void {
  // Their types differ by the item alone, which the schemas judge.
  const endpoints = transfers[type] as (typeof transfers)['skill'];
  const part = PART[type];
  const exported = exporter(store);
  mount(api, endpoints.exportAll, async (_, caller) => {
    return { ...head(), resource_type: type, items: await exported(type, caller) } as never;
  });
  mount(api, endpoints.exportOne, async ({ params: { id } }, caller) => {
    return { ...head(), resource_type: type, items: await exported(type, caller, id) } as never;
  });
  mount(api, endpoints.import, async ({ body, raw_body, query: { dry_run } }, caller) => {
    const results = await store.transfer.import({ [part]: body.items }, { importer: caller, dry_run });
    const result: ImportResult = results[part];
    return { ...result, warnings: [...result.warnings, ...unknownFields(type, (raw_body as { items?: unknown }).items)] };
  });
}

const head = () => ({ version: BUNDLE_VERSION, exported_at: new Date().toISOString() });

/** Records in their exported shape; the caller's own of what is owned, the one with the id when one is asked for. */
const exporter = (store: Store) => async (type: ResourceType, caller: Caller, id?: string) => {
  const noun = type.replaceAll('_', ' ');
  const owned = type === 'workflow';
  const found = await store.transfer.records(type, id ? { id } : owned ? { owner: caller.key } : {});
  if (id && found.length === 0) throw notFound(noun, id);
  if (id && owned && (found[0] as { owner?: string }).owner !== caller.key) throw foreign(noun);
  const schema: z.ZodType = EXPORTED[type];
  return found.map((record) => schema.parse(store.transfer.masked(record)));
};

/** An import says what it does not understand, since what is left aside there is lost. */
function unknownFields(type: ResourceType, items: unknown): string[] {
  const known = Object.keys(EXPORTED[type].shape);
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: object, index) =>
    Object.keys(item)
      .filter((field) => !known.includes(field))
      .map((field) => `${PART[type]}.${index}: The field ${field} is not known and was left aside`),
  );
}
