import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { findExcess } from '../../src/api/http/entries.ts';
import { parseValue } from '../../src/api/http/validate.ts';
import * as common from '../../src/contracts/common.ts';
import type { Endpoint } from '../../src/contracts/endpoint.ts';
import { StdioConfig } from '../../src/contracts/mcps.ts';

const CONTRACTS = join(import.meta.dirname, '../../src/contracts');
const files = readdirSync(CONTRACTS).filter((name) => name.endsWith('.ts'));
const contracts: Record<string, unknown>[] = await Promise.all(files.map((name) => import(join(CONTRACTS, name))));
const isEndpoint = (value: unknown): value is Endpoint => typeof value === 'object' && value !== null && 'operation' in value;
const declaredEndpoints = contracts
  .flatMap((module) => Object.values(module))
  .flatMap((part) => (typeof part === 'object' && part !== null ? Object.values(part) : []))
  .filter(isEndpoint);

const MANY = 20_000;
const keys = Array.from({ length: MANY }, (_, index) => `k${index}`);
const wide = Object.fromEntries(keys.map((key) => [key, 'x']));

interface Big {
  path: string;
  value: unknown;
}

/** For each map, list and object that a schema takes, a value that has very many entries there and nothing else. */
function bigValues(schema: z.ZodType, path: string[], wrap: (value: unknown) => unknown, seen: readonly z.ZodType[] = []): Big[] {
  if (seen.includes(schema)) return [];
  const further = (next: unknown, key: string, around: (value: unknown) => unknown) =>
    bigValues(next as z.ZodType, [...path, key], (value) => wrap(around(value)), [...seen, schema]);
  const here = (value: unknown): Big => ({ path: path.join('.'), value: wrap(value) });
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault)
    return bigValues(schema.unwrap() as z.ZodType, path, wrap, [...seen, schema]);
  if (schema instanceof z.ZodPipe)
    return bigValues((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType, path, wrap, [...seen, schema]);
  if (schema instanceof z.ZodUnion) {
    const forms = schema.options as z.ZodType[];
    // One that takes any JSON of this kind takes a large one, too.
    return forms.length > 1 && forms.some(isFree) ? [] : forms.flatMap((form) => bigValues(form, path, wrap, [...seen, schema]));
  }
  if (schema instanceof z.ZodArray) return [here(keys), ...further(schema.element, '0', (value) => [value])];
  if (schema instanceof z.ZodRecord)
    return isFree(schema) && common.entryLimit(schema) === undefined
      ? []
      : [here(wide), ...further(schema.valueType, 'k', (value) => ({ k: value }))];
  if (schema instanceof z.ZodObject)
    return [
      here(wide),
      ...Object.entries(schema.shape).flatMap(([name, field]) =>
        further(field, name, (value) => ({ ...literalsOf(schema), [name]: value })),
      ),
    ];
  return [];
}
/** The values that distinguish one form of a union from the others. */
const literalsOf = ({ shape }: z.ZodObject) =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([name, field]) => (field instanceof z.ZodLiteral ? [[name, field.value]] : [])),
  );
const isFree = (schema: z.ZodType) => schema instanceof z.ZodRecord && schema.valueType instanceof z.ZodUnknown;

const places = declaredEndpoints.flatMap((endpoint: Endpoint) =>
  endpoint.body
    ? bigValues(endpoint.body, [], (value) => value).map(
        (big) => [`${endpoint.method} ${endpoint.path} ${big.path || 'body'}`, endpoint, big] as const,
      )
    : [],
);

it.each(places)('%s takes no more entries than it can deal with', (_, endpoint, { path, value }) => {
  const { large = false } = endpoint;
  // The lists of an import are long by design; each item of them is dealt with by itself.
  if (large && Array.isArray(value) === false && Object.values(value as object).some(Array.isArray) && !path.includes('.'))
    return;
  const found = findExcess(endpoint.body!, value, { path: [], large });
  expect(found).toEqual({ path: path || 'body', message: expect.stringMatching(new RegExp(` ${MANY} .*; at most `)) });
});

it('is refused before anything else is looked at, and named', () => {
  const config = { command: 'x', env: wide };
  expect(() => parseValue(StdioConfig, config, 'connection_config')).toThrowError(
    expect.objectContaining({ errors: [{ path: 'env', message: `Has ${MANY} entries; at most 500 are taken` }] }),
  );
});
const listOf = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`);
const mapOf = (count: number) => Object.fromEntries(listOf(count).map((key) => [key, 'x']));
const Texts = z.array(z.string());
const buildTextsByName = () => z.record(z.string(), z.string());
const Json = z.record(z.string(), z.unknown());

it.each<[string, z.ZodType, (count: number) => unknown, most: number, path: string, large: boolean]>([
  ['items of a list', z.object({ list: Texts }), (count) => ({ list: listOf(count) }), 1_000, 'list', false],
  [
    'items of a list within an import',
    z.object({ items: z.array(z.object({ tags: Texts })) }),
    (count) => ({ items: [{ tags: listOf(count) }] }),
    1_000,
    'items.0.tags',
    true,
  ],
  ['entries of a map', z.object({ map: buildTextsByName() }), (count) => ({ map: mapOf(count) }), 500, 'map', false],
  ['fields that nothing reads', z.object({ name: z.string() }), (count) => ({ name: 'x', ...mapOf(count) }), 200, 'body', false],
  [
    'items within the limit of their list',
    z.object({ list: common.limitEntries(7, Texts.nullable()) }),
    (count) => ({ list: listOf(count) }),
    7,
    'list',
    false,
  ],
  [
    'entries within the limit of their map',
    z.object({ map: common.limitEntries(7, buildTextsByName()) }),
    (count) => ({ map: mapOf(count) }),
    7,
    'map',
    false,
  ],
  [
    'values of JSON, at any depth',
    z.object({ json: common.limitEntries(7, Json) }),
    (count) => ({ json: { a: [{ b: listOf(count) }] } }),
    7,
    'json',
    false,
  ],
])('%s are taken up to their limit', (_, schema, value, most, path, large) => {
  expect(findExcess(schema, value(most), { path: [], large })).toBeNull();
  expect(findExcess(schema, value(most + 1), { path: [], large })).toEqual({
    path,
    message: expect.stringMatching(new RegExp(` ${most + 1} .*; at most ${most} `)),
  });
});

it('the list of an import is as long as its contract allows', () => {
  const schema = z.object({ items: Texts });
  expect(findExcess(schema, { items: listOf(1_001) }, { path: [], large: true })).toBeNull();
  expect(findExcess(schema, { items: listOf(1_001) }, { path: [], large: false })).toMatchObject({ path: 'items' });
});
