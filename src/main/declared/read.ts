import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { distance } from 'fastest-levenshtein';
import { type Document, parseAllDocuments } from 'yaml';
import { toPatchSchema } from '../../contracts/common.ts';
import { GUARDRAIL_CONFIGS } from '../../contracts/guardrails.ts';
import { MASK } from '../../contracts/mcps.ts';
import { one } from '../../domain/errors.ts';
import { isTemplate, mapTexts } from '../../domain/secrets.ts';
import { DECLARED_KINDS, type Declared, type DeclaredKind, type Fields } from './kinds.ts';

/** Reads everything that files and folders declare, in the order of creation. Throws a sentence for each fault. */
export async function readDeclared(paths: string[]): Promise<Declared[]> {
  const sources = (await Promise.all(paths.map(loadSources))).flat();
  const documents = sources.flatMap(({ file, source }) =>
    parseDocuments(file, source).flatMap((document) => parseItems(document, file)),
  );
  const items = documents.flatMap(({ item }) => item ?? []);
  const errors = [...documents.flatMap(({ errors }) => errors), ...findDuplicates(items)];
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return DECLARED_KINDS.flatMap((kind) => items.filter((item) => item.kind === kind));
}

async function loadSources(path: string): Promise<{ file: string; source: string }[]> {
  if (path === '-') return [{ file: 'stdin', source: await text(process.stdin) }];
  if (!(await stat(path)).isDirectory()) return [{ file: path, source: await readFile(path, 'utf8') }];
  const names = (await readdir(path, { recursive: true })).filter((name) => /\.(ya?ml|json)$/.test(name)).sort();
  return Promise.all(names.map(async (name) => ({ file: join(path, name), source: await readFile(join(path, name), 'utf8') })));
}

/** Parses a file as YAML, which includes JSON. */
function parseDocuments(file: string, source: string): unknown[] {
  return parseAllDocuments(source).map((document) => {
    const [error] = document.errors;
    if (error) throw new Error(`${file}: ${error.message.split('\n')[0]}`);
    return toValue(document, file);
  });
}

/** Converts a document to its value; throws if an alias refers to nothing or to itself. */
function toValue(document: Document, file: string): unknown {
  try {
    const value: unknown = document.toJS();
    JSON.stringify(value);
    return value;
  } catch {
    throw new Error(`${file}: it holds an alias that cannot be resolved; write the value itself`);
  }
}

interface Found {
  item: Declared | null;
  errors: string[];
}

/** Parses one resource with its `kind`, a list of them, an export of one kind, or a bundle. */
function parseItems(document: unknown, file: string): Found[] {
  if (document === null) return [];
  if (Array.isArray(document)) return document.flatMap((one, index) => parseItems(one, `${file} #${index + 1}`));
  if (typeof document !== 'object') return [createFailure(`${file}: not a resource`)];
  const resource = document as Fields;
  if (typeof resource.kind === 'string') {
    const kind = DECLARED_KINDS.find(({ type }) => type === resource.kind);
    const { kind: _, ...fields } = resource;
    return [
      kind
        ? parseItem(kind, fields, file)
        : createFailure(`${file}: kind must be one of ${DECLARED_KINDS.map(({ type }) => type).join(', ')}`),
    ];
  }
  const single = DECLARED_KINDS.find(({ type }) => type === resource.resource_type);
  const parts = single
    ? [{ kind: single, items: resource.items }]
    : DECLARED_KINDS.map((kind) => ({ kind, items: resource[kind.part] }));
  const lists = parts.filter(({ items }) => Array.isArray(items));
  if (lists.length === 0) return [createFailure(`${file}: a resource needs a kind, and an export its lists`)];
  return lists.flatMap(({ kind, items }) =>
    (items as unknown[]).map((fields, index) => parseItem(kind, fields, `${file}, ${kind.part}.${index}`)),
  );
}

const createFailure = (text: string): Found => ({ item: null, errors: [text] });

function parseItem(kind: DeclaredKind, item: unknown, place: string): Found {
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return createFailure(`${place}: not a resource`);
  const { id = null, ...given } = item as Fields;
  // Workflows in an export may have no title.
  const title = given[kind.title] ?? (kind.title === 'title' ? id : null);
  if (typeof title !== 'string' || title === '')
    return createFailure(`${place}: ${one(kind.type)} needs a ${kind.title}${kind.title === 'title' ? ' or an id' : ''}`);
  const names = Object.fromEntries(Object.entries(given).filter(([field]) => field in kind.names));
  const own = Object.fromEntries(Object.entries(given).filter(([field]) => !(field in kind.names)));
  const result = toPatchSchema(kind.fields).strict().safeParse(own);
  const errors = [
    ...(result.error?.issues.map(({ path, message, ...issue }) =>
      describeError(kind, [path.join('.'), message], 'keys' in issue ? (issue.keys as string[]) : null),
    ) ?? []),
    ...Object.entries(names).flatMap(([field, value]) => findNameErrors(kind, field, value)),
    ...findSecrets(own),
  ].map((text) => `${place}: ${text}`);
  const fields = { ...fillDefaults(kind, result.data ?? {}), ...names };
  return { item: { kind, id: typeof id === 'string' ? id : null, title, fields, place }, errors };
}

function describeError(kind: DeclaredKind, [path, message]: string[], keys: string[] | null): string {
  if (!keys) return `${path}: ${message}`;
  const field_names = [...Object.keys(kind.fields.shape), ...Object.keys(kind.names)];
  const near = (key: string) => field_names.find((name) => distance(name, key) <= 2);
  return keys
    .map((key) => `${key} is not a field of ${one(kind.type)}${near(key) ? `; did you mean ${near(key)}?` : ''}`)
    .join('; ');
}

function findNameErrors({ names }: DeclaredKind, field: string, value: unknown): string[] {
  const many = names[field]?.field.endsWith('_ids');
  const fits = many ? Array.isArray(value) && value.every((name) => typeof name === 'string') : typeof value === 'string';
  return fits ? [] : [`${field} takes ${many ? 'a list of names' : 'a name'}`];
}

/** Lists secrets in a configuration. Files are stored and shared, so they may only name stored tokens. */
function findSecrets({ connection_config }: Fields): string[] {
  const errors: string[] = [];
  mapTexts(connection_config ?? {}, (value, { secret, path }) => {
    if (secret && value !== MASK && !isTemplate(value))
      errors.push(`connection_config.${path} holds a secret; store it as a token and write {{token:NAME}}`);
    return value;
  });
  return errors;
}

/** Fills in the defaults of a guardrail's configuration: it is compared in its stored form. */
export function fillDefaults(kind: DeclaredKind, fields: Fields, type = fields.guardrail_type): Fields {
  if (kind.type !== 'guardrail' || fields.config === undefined) return fields;
  const schema = GUARDRAIL_CONFIGS[type as keyof typeof GUARDRAIL_CONFIGS];
  return { ...fields, config: schema?.safeParse(fields.config).data ?? fields.config };
}

function findDuplicates(items: Declared[]): string[] {
  const groups = Object.values(
    Object.groupBy(items, ({ kind, title, id }) => `${kind.type} ${kind.title === 'title' ? (id ?? title) : title}`),
  );
  return groups.flatMap((group = []) =>
    group.length > 1
      ? [`The ${group[0]?.kind.type} ${group[0]?.title} is declared twice: ${group.map(({ place }) => place).join(' and ')}`]
      : [],
  );
}
