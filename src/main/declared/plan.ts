import { canonicalJson } from '../../domain/canonical-json.ts';
import type { Installed, World } from './installed.ts';
import type { Declared, DeclaredKind, Fields } from './kinds.ts';
import { fillDefaults } from './read.ts';

export interface DeclaredChange {
  field: string;
  before: unknown;
  after: unknown;
}

export type PlanStep =
  | { action: 'create'; kind: DeclaredKind; title: string; declared: Declared }
  | { action: 'change'; kind: DeclaredKind; title: string; id: string; declared: Declared; changes: DeclaredChange[] }
  | { action: 'delete'; kind: DeclaredKind; title: string; id: string };

export interface Plan {
  steps: PlanStep[];
  unchanged: number;
}

/** Returns the steps after which an installation has what is declared. Fields that are not declared stay unchanged. */
export function buildPlan(declared_items: Declared[], world: World, prunable: ReadonlySet<string> = new Set()): Plan {
  const steps: PlanStep[] = [];
  const present_ids = new Set<string>();
  const errors: string[] = [];
  for (const item of declared_items) {
    try {
      const step = buildStep(item, declared_items, world);
      if (step.id) present_ids.add(step.id);
      if (step.step) steps.push(step.step);
    } catch (error) {
      errors.push(`${item.place}: ${(error as Error).message}`);
    }
  }
  if (errors.length > 0) throw new Error(errors.join('\n'));
  const kinds = new Set(declared_items.map(({ kind }) => kind));
  const superfluous = world.installed.filter(({ kind, id }) => kinds.has(kind) && prunable.has(id) && !present_ids.has(id));
  // A resource that refers to others is deleted before them.
  const deletions = superfluous
    .toReversed()
    .map(({ kind, id, title }) => ({ action: 'delete' as const, kind, title: title ?? id, id }));
  return { steps: [...steps, ...deletions], unchanged: declared_items.length - steps.length };
}

function buildStep(item: Declared, declared_items: Declared[], world: World): { id: string | null; step: PlanStep | null } {
  const { kind, title } = item;
  const match = findCounterpart(item, world.installed);
  const fields = resolveNames(item, createNameLookup(world, declared_items));
  if (!match) return { id: null, step: { action: 'create', kind, title, declared: item } };
  const desired_fields = fillDefaults(kind, fields, match.fields.guardrail_type);
  const current = fillDefaults(kind, match.fields);
  const changes = Object.entries(desired_fields)
    .filter(([field, after]) => canonicalJson(current[field] ?? null) !== canonicalJson(after ?? null))
    .map(([field, after]) => ({ field, before: current[field] ?? null, after }));
  const step = { action: 'change' as const, kind, title, id: match.id, declared: item, changes };
  return { id: match.id, step: changes.length > 0 ? step : null };
}

/** Returns the installed resource with the item's id, or else with its name. */
function findCounterpart({ kind, id, title }: Declared, installed: Installed[]): Installed | undefined {
  const same = installed.filter((one) => one.kind === kind);
  const exact = id === null ? undefined : same.find((one) => one.id === id);
  if (exact) return exact;
  const matches = same.filter((one) => one.title === title);
  if (matches.length > 1)
    throw new Error(`Several of your ${kind.part} have the title ${JSON.stringify(title)}; add the id of one`);
  return matches[0];
}

export type Lookup = (of: string, name: string) => string;

/** Creates a lookup of ids by name. A resource that does not exist yet gets a placeholder. */
function createNameLookup({ others }: World, declared_items: Declared[]): Lookup {
  return (of, name) => {
    const [id, ...more] = others.get(of as Parameters<typeof others.get>[0])?.get(name) ?? [];
    if (more.length > 0) throw new Error(`Several ${of}s have the name ${JSON.stringify(name)}; name one by its id`);
    if (id) return id;
    if (declared_items.some(({ kind, title }) => kind.type === of && title === name)) return `(new ${of} ${name})`;
    throw new Error(`There is no ${of.replaceAll('_', ' ')} ${JSON.stringify(name)}, here or in the files`);
  };
}

/** Returns the fields of an item with ids in place of names. */
export function resolveNames({ kind, fields }: Declared, getId: Lookup): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => {
      const reference = kind.names[field];
      if (!reference) return [field, value];
      const toId = (name: string) => getId(reference.of, name);
      return [reference.field, Array.isArray(value) ? value.map(toId) : toId(value as string)];
    }),
  );
}
