// Writes the types of the client from the description of the API: `npm run client-types`.
import { globSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describeApi } from '../../src/api/service/openapi.ts';
import type { Endpoint } from '../../src/contracts/endpoint.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const FILE = resolve(ROOT, 'src/client/generated/api.ts');

interface Schema {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  const?: unknown;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
  'x-later'?: boolean;
}
interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  schema: Schema;
  description?: string;
}
interface Operation {
  summary: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}

/** The whole file, not yet formatted. */
export async function clientTypes(): Promise<string> {
  const description = describeApi(await declaredEndpoints(), '') as unknown as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const operations = Object.entries(description.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ route: `${method.toUpperCase()} ${path}`, operation })),
    )
    .sort((one, other) => (one.route < other.route ? -1 : 1));
  const types = usedBy(operations, description.components.schemas);
  const repeatable = operations.filter(({ operation }) => takesKey(operation)).map(({ route }) => JSON.stringify(route));
  return [
    '// Generated from src/contracts by `npm run client-types`; do not edit.\n',
    ...types.map(([name, schema]) => `${comment(schema.description)}export type ${name} = ${typeOf(schema)};\n`),
    '/** What each operation takes and returns. */',
    `export interface Operations {\n${operations.map(entryOf).join('\n')}\n}\n`,
    '/** Operations that honour an Idempotency-Key. */',
    `export const IDEMPOTENT: ReadonlySet<string> = new Set([${repeatable.join(', ')}]);\n`,
  ].join('\n');
}

/** Those of Perdura's API; /v1 and /mcp have clients of others. */
async function declaredEndpoints(): Promise<Endpoint[]> {
  const files = globSync('src/contracts/*.ts', { cwd: ROOT }).sort();
  const modules = await Promise.all(files.map((file) => import(resolve(ROOT, file)) as Promise<object>));
  const all = new Set(modules.flatMap((module) => endpointsIn({ ...module })));
  return [...all].filter(({ path }) => path.startsWith('/api/'));
}

function endpointsIn(value: unknown): Endpoint[] {
  if (typeof value !== 'object' || value === null || '_zod' in value) return [];
  if ('operation' in value && 'path' in value) return [value as Endpoint];
  return Object.values(value).flatMap(endpointsIn);
}

/** The named types that operations mention, directly or through another one. */
function usedBy(operations: unknown, schemas: Record<string, Schema>): [string, Schema][] {
  const used = new Set<string>();
  const follow = (value: unknown): void => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      if (used.has(name)) continue;
      used.add(name);
      follow(schemas[name]);
    }
  };
  follow(operations);
  return [...used].sort().map((name) => [name, schemas[name] as Schema]);
}

const takesKey = ({ parameters = [] }: Operation) => parameters.some(({ name }) => name === 'Idempotency-Key');

function entryOf({ route, operation }: { route: string; operation: Operation }): string {
  const { parameters = [], requestBody, responses, summary } = operation;
  const body = requestBody && bodyOf(requestBody.content);
  const input = [objectOf('path', parameters), objectOf('query', parameters), body ? `body: ${body}` : ''].filter(Boolean);
  const [, success] = Object.entries(responses).find(([status]) => /^2/.test(status) && status !== '200') ?? [];
  const { content = {} } = success ?? responses[200] ?? {};
  const [reply] = Object.values(content);
  return (
    `${comment(summary)}${JSON.stringify(route)}: { input: ${input.length > 0 ? `{ ${input.join(';\n')} }` : 'object'}; ` +
    `reply: ${reply ? typeOf(reply.schema) : 'null'} };`
  );
}

const bodyOf = (content: Record<string, { schema: Schema }>) =>
  content['application/json'] ? typeOf(content['application/json'].schema) : 'FormData';

function objectOf(place: 'path' | 'query', parameters: Parameter[]): string {
  const fields = parameters.filter((one) => one.in === place);
  if (fields.length === 0) return '';
  const texts = fields.map(
    ({ name, required, schema, description }) =>
      `${comment(description ?? schema.description)}${name}${required ? '' : '?'}: ${typeOf(schema)}`,
  );
  return `${place}${fields.some(({ required }) => required) ? '' : '?'}: {\n${texts.join(';\n')}\n}`;
}

function typeOf(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split('/').at(-1) as string;
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const some = (schema.anyOf ?? schema.oneOf)?.filter((one) => !isLater(one));
  if (some) return `(${some.map(typeOf).join(' | ')})`;
  if (schema.allOf) return `(${schema.allOf.map(typeOf).join(' & ')})`;
  if (Array.isArray(schema.type)) return `(${schema.type.map((type) => typeOf({ ...schema, type })).join(' | ')})`;
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return schema.items ? `(${typeOf(schema.items)})[]` : 'unknown[]';
    case 'object':
      return recordOf(schema);
    default:
      return 'unknown';
  }
}

/** What only a later version sends is left out: otherwise events could not be told apart, and a misspelt field would compile. */
const isLater = (schema: Schema) => schema['x-later'] === true;
const isClosed = (more: boolean | Schema) => more === false || (more !== true && isLater(more));

function recordOf({ properties = {}, required = [], additionalProperties: more = false }: Schema): string {
  const fields = Object.entries(properties).map(
    ([name, schema]) =>
      `${comment(schema.description)}${/^\w+$/.test(name) ? name : JSON.stringify(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`,
  );
  // The type of fields that are not named must hold for the named ones, too.
  const rest = isClosed(more)
    ? []
    : [`[name: string]: ${fields.length > 0 || more === true ? 'unknown' : typeOf(more as Schema)}`];
  return `{\n${[...fields, ...rest].join(';\n')}\n}`;
}

const comment = (text?: string) => (text ? `/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n` : '');

if (import.meta.main) writeFileSync(FILE, await clientTypes());
