import { findTarget, isSchema, type Schema, VALUE_KEYWORDS } from './schema-parts.ts';

/** References that every vendor reads. `#` for the whole schema, and names with other characters, fail at some. */
const PLAIN = /^#\/(?:\$defs|definitions)\/[\w.-]+$/;

/**
 * Makes every reference lead to a definition with a plain name. One that leads nowhere, or in a circle to nothing but references, is
 * left out.
 */
export function nameReferences(root: Schema): Schema {
  const { $defs, definitions } = root;
  const hasEnd = createEndFinder(root);
  const taken = new Set([$defs, definitions].flatMap((map) => Object.keys(isSchema(map) ? map : {})));
  const names = new Map<string, string>();
  const added: Schema = {};

  function nameOf(reference: string, target: Schema): string {
    const known = names.get(reference);
    if (known) return known;
    let count = names.size + 1;
    while (taken.has(`Part${count}`)) count += 1;
    const name = `Part${count}`;
    taken.add(name);
    names.set(reference, name);
    const { $defs: _, definitions: __, ...part } = target;
    added[name] = visit(target === root ? part : target);
    return name;
  }
  function visit(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(visit);
    if (!isSchema(value)) return value;
    return Object.fromEntries(Object.entries(value).flatMap(([name, inner]) => visitMember(name, inner)));
  }
  function visitMember(name: string, inner: unknown): [string, unknown][] {
    if (name !== '$ref' || typeof inner !== 'string')
      return [[name, VALUE_KEYWORDS.includes(name) && !isSchema(inner) ? inner : visit(inner)]];
    const target = findTarget(inner, root);
    if (!target || !hasEnd(target)) return [];
    return [[name, PLAIN.test(inner) ? inner : `#/$defs/${nameOf(inner, target)}`]];
  }

  const named = visit(root) as Schema;
  return names.size === 0 ? named : { ...named, $defs: { ...Object(named.$defs), ...added } };
}

/** Returns a function that is true unless a schema refers to one that refers to another, and so on in a circle. Each is followed once. */
function createEndFinder(root: Schema): (schema: Schema) => boolean {
  const known = new Map<Schema, boolean>();
  return (schema) => {
    const followed: Schema[] = [];
    let current: Schema | undefined = schema;
    while (current && typeof current.$ref === 'string' && !known.has(current)) {
      // Until its end is found, it has none.
      known.set(current, false);
      followed.push(current);
      current = findTarget(current.$ref, root);
    }
    const has_end = current !== undefined && (known.get(current) ?? true);
    for (const one of followed) known.set(one, has_end);
    return has_end;
  };
}
