import { expect, it } from 'vitest';
import { describeApi } from '../../../src/api/service/openapi.ts';
import { declaredEndpoints } from '../../support/contract/endpoints.ts';

interface Schema {
  $ref?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  [keyword: string]: unknown;
}
interface Operation {
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
  'x-scope'?: string;
}

const endpoints = await declaredEndpoints();
const api = JSON.parse(JSON.stringify(describeApi(endpoints, 'x'))) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
};

const FACTS = ['const', 'default', 'enum', 'exclusiveMinimum', 'minimum', 'maximum', 'minLength', 'maxLength'].concat([
  ...['minItems', 'maxItems', 'pattern', 'additionalProperties'],
]);
/** Patterns of formats are as long as they are well known. */
const isTelling = (keyword: string, { format }: Schema) => keyword !== 'pattern' || format === undefined;
const factsOf = (schema: Schema): string[] =>
  FACTS.flatMap((keyword) =>
    schema[keyword] !== undefined && typeof schema[keyword] !== 'object' && isTelling(keyword, schema)
      ? [`${keyword} ${JSON.stringify(schema[keyword])}`]
      : Array.isArray(schema[keyword]) || schema[keyword] === null || keyword === 'default'
        ? schema[keyword] === undefined
          ? []
          : [`${keyword} ${JSON.stringify(schema[keyword])}`]
        : [],
  );

/** Lists what a schema takes, a line for each place that has more to say than its type; and the named schemas that it refers to. */
function listLines(schema: Schema, at: string, referred: Set<string>): string[] {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) as string;
    referred.add(name);
    return [`${at}: ${name}`];
  }
  const facts = factsOf(schema);
  const own = facts.length > 0 ? [`${at}: ${facts.join(', ')}`] : [];
  const inner = [
    ...Object.entries(schema.properties ?? {}).map(
      ([name, field]) => [`${at}.${name}${schema.required?.includes(name) ? '' : '?'}`, field] as const,
    ),
    ...(schema.items ? [[`${at}[]`, schema.items] as const] : []),
    ...(typeof schema.additionalProperties === 'object' ? [[`${at}{}`, schema.additionalProperties] as const] : []),
    ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].map((part) => [at, part] as const),
  ];
  return [...own, ...inner.flatMap(([place, part]) => listLines(part, place, referred))];
}

/** Describes what each operation takes and refuses, and the limits and defaults of all fields of requests, in lines that can be compared. */
function describeRequests(): string {
  const referred = new Set<string>();
  const operations = Object.entries(api.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody, responses, 'x-scope': scope }]) => {
      const name = `${method.toUpperCase()} ${path}`;
      const [type, { schema } = { schema: {} }] = Object.entries(requestBody?.content ?? {})[0] ?? [];
      return [
        `${name}: ${scope ?? 'open'} ${Object.keys(responses).join(' ')}`,
        ...parameters
          .filter(({ in: place }) => place === 'query')
          .flatMap((one) => listLines(one.schema, `${name} ?${one.name}`, referred)),
        ...(type ? listLines(schema, `${name} ${type}`, referred) : []),
      ];
    }),
  );
  const schemas: string[] = [];
  for (const name of referred) schemas.push(...listLines(api.components.schemas[name] as Schema, name, referred));
  return `${[...operations.sort(), '', ...[...new Set(schemas)].sort()].join('\n')}\n`;
}

// After a change that is meant: vitest run --config vitest.fast.config.ts test/unit/contracts/limits.test.ts -u
it('requests have the limits, defaults, statuses and scopes of the snapshot', async () => {
  const facts = endpoints.filter(({ idempotent, large, stores }) => idempotent || large || stores);
  const handling = facts.map(
    ({ method, path, idempotent, large, stores }) =>
      `${method} ${path}: ${[idempotent && 'idempotent', large && 'large', stores && 'counts as storage'].filter(Boolean).join(', ')}`,
  );
  await expect(`${describeRequests()}\n${handling.sort().join('\n')}\n`).toMatchFileSnapshot('../snapshots/requests.txt');
});
