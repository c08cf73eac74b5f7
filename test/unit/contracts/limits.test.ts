import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
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
  enum?: unknown[];
  [keyword: string]: unknown;
}
interface Operation {
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, unknown>;
  'x-scope'?: string;
}
/** A place of a request and a fact about it, such as `AgentCreate.name` and `maxLength 200`. */
type Fact = readonly [place: string, fact: string];

const KEYWORDS = ['const', 'default', 'exclusiveMinimum', 'minimum', 'maximum', 'minLength', 'maxLength'].concat([
  ...['minItems', 'maxItems', 'pattern'],
]);
/** Patterns of formats are as long as they are well known. */
const isTelling = (keyword: string, { format }: Schema) => keyword !== 'pattern' || format === undefined;
const listKeywords = (schema: Schema, place: string): Fact[] => [
  ...KEYWORDS.filter((keyword) => schema[keyword] !== undefined && isTelling(keyword, schema)).map(
    (keyword): Fact => [place, `${keyword} ${JSON.stringify(schema[keyword])}`],
  ),
  ...(schema.enum ?? []).map((value): Fact => [place, `takes ${JSON.stringify(value)}`]),
  ...(schema.additionalProperties === false ? [[place, 'takes no other fields'] as const] : []),
];

/** Lists the facts about what a schema takes, and adds to `referred` the named schemas in it. */
function listFacts(schema: Schema, place: string, referred: Set<string>): Fact[] {
  if (schema.$ref) {
    const name = schema.$ref.split('/').at(-1) as string;
    referred.add(name);
    return [[place, `is ${name}`]];
  }
  const { properties = {}, required = [], items, additionalProperties: others, anyOf = [], oneOf = [] } = schema;
  const parts: [place: string, Schema][] = [
    ...Object.entries(properties).map(([name, field]): [string, Schema] => [`${place}.${name}`, field]),
    ...(items ? [[`${place}[]`, items] as [string, Schema]] : []),
    ...(typeof others === 'object' ? [[`${place}{}`, others] as [string, Schema]] : []),
    ...[...anyOf, ...oneOf].map((part): [string, Schema] => [place, part]),
  ];
  return [
    ...listKeywords(schema, place),
    ...required.map((name): Fact => [`${place}.${name}`, 'is required']),
    ...parts.flatMap(([at, part]) => listFacts(part, at, referred)),
  ];
}

/** Lists what each operation takes and refuses, and the limits and defaults of all fields of requests. */
async function listRequestFacts(): Promise<Fact[]> {
  const endpoints = await declaredEndpoints();
  const { paths, components } = JSON.parse(JSON.stringify(describeApi(endpoints, 'x'))) as {
    paths: Record<string, Record<string, Operation>>;
    components: { schemas: Record<string, Schema> };
  };
  const referred = new Set<string>();
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody, responses, 'x-scope': scope }]): Fact[] => {
      const name = `${method.toUpperCase()} ${path}`;
      const queries = parameters.filter(({ in: place }) => place === 'query');
      return [
        [name, `needs ${scope ?? 'no token'}`],
        ...Object.keys(responses).map((status): Fact => [name, `answers ${status}`]),
        ...queries.flatMap((one) => listFacts(one.schema, `${name}?${one.name}`, referred)),
        ...Object.entries(requestBody?.content ?? {}).flatMap(([type, { schema }]) =>
          listFacts(schema, `${name} ${type}`, referred),
        ),
      ];
    }),
  );
  const schemas: Fact[] = [];
  for (const name of referred) schemas.push(...listFacts(components.schemas[name] as Schema, name, referred));
  const handling = endpoints.flatMap(({ method, path, idempotent, large, stores }) =>
    Object.entries({ 'is idempotent': idempotent, 'may be large': large, 'counts as storage': stores }).flatMap(
      ([fact, holds]): Fact[] => (holds ? [[`${method} ${path}`, fact]] : []),
    ),
  );
  return [...operations, ...handling, ...schemas];
}

const FILE = resolve(import.meta.dirname, '../snapshots/requests.txt');
/** A line for each place: its name and the facts about it, separated by tabs. */
function toText(facts: readonly Fact[]): string {
  const lines = [...Map.groupBy(facts, ([place]) => place)].map(([place, of]) =>
    [place, ...new Set(of.map(([, fact]) => fact))].join('\t'),
  );
  return `${lines.sort().join('\n')}\n`;
}
const parseText = (text: string): string[] =>
  text
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [place, ...facts] = line.split('\t');
      return facts.map((fact) => `${place} ${fact}`);
    });

// After a change that is meant, and for new fields: RECORD_REQUESTS=1 vitest run --config vitest.fast.config.ts test/unit/contracts/limits.test.ts
it('requests still have the limits, defaults, statuses and scopes that are on record', async () => {
  const facts = await listRequestFacts();
  if (process.env.RECORD_REQUESTS) writeFileSync(FILE, toText(facts));
  const present = new Set(facts.map((fact) => fact.join(' ')));
  const recorded = parseText(readFileSync(FILE, 'utf8'));
  expect(recorded.filter((fact) => !present.has(fact))).toEqual([]);
  expect(recorded.length).toBeGreaterThan(2_000);
});
