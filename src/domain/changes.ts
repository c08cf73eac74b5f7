import { canonicalJson } from './canonical-json.ts';
import { isRecord } from './records.ts';

/** A difference between two documents, at one field. */
export interface FieldChange {
  /** The path of the field, such as `settings.max_turns`, or `skills[tone].instructions` in a list of named objects. */
  path: string;
  kind: 'added' | 'removed' | 'changed' | 'reordered';
  before?: unknown;
  after?: unknown;
}

/**
 * Returns the differences field by field. Objects in a list are matched by their `name`; their order is a separate difference.
 */
export function diffDocuments(before: unknown, after: unknown, path = ''): FieldChange[] {
  if (before === undefined || after === undefined) return diffPresence(before, after, path);
  if (canonicalJson(before) === canonicalJson(after)) return [];
  if (isRecord(before) && isRecord(after))
    return listKeys(before, after).flatMap((key) => diffDocuments(before[key], after[key], path ? `${path}.${key}` : key));
  const [named_before, named_after] = [indexByName(before), indexByName(after)];
  return named_before && named_after ? diffLists(named_before, named_after, path) : [{ path, kind: 'changed', before, after }];
}

function diffPresence(before: unknown, after: unknown, path: string): FieldChange[] {
  if (before === after) return [];
  return before === undefined ? [{ path, kind: 'added', after }] : [{ path, kind: 'removed', before }];
}

type Named = Map<string, unknown>;

function diffLists(before: Named, after: Named, path: string): FieldChange[] {
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  const inside = keys.flatMap((key) => diffDocuments(before.get(key), after.get(key), `${path}[${key}]`));
  const common_keys = [...before.keys()].filter((key) => after.has(key));
  const now = [...after.keys()].filter((key) => before.has(key));
  const is_reordered = common_keys.some((key, index) => key !== now[index]);
  return is_reordered ? [{ path, kind: 'reordered', before: common_keys, after: now }, ...inside] : inside;
}

/**
 * Returns the objects of a list by name; null unless it is a list of named objects. The later ones of the same name are numbered.
 */
function indexByName(list: unknown): Named | null {
  if (!Array.isArray(list) || !list.every((item) => isRecord(item) && typeof item.name === 'string')) return null;
  const items_by_name: Named = new Map();
  for (const item of list as { name: string }[]) {
    let key = item.name;
    for (let copy = 2; items_by_name.has(key); copy++) key = `${item.name} ${copy}`;
    items_by_name.set(key, item);
  }
  return items_by_name;
}

const listKeys = (...records: object[]) => [...new Set(records.flatMap((record) => Object.keys(record)))];
