import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { codeSamples } from '../../../src/api/service/code-samples.ts';
import { describeApi } from '../../../src/api/service/openapi.ts';
import { describeTags } from '../../../src/api/service/tags.ts';
import { mcps } from '../../../src/contracts/mcps.ts';
import { describedBodies } from '../../support/contract/described-bodies.ts';
import { declaredEndpoints } from '../../support/contract/endpoints.ts';
import { schemaReference } from '../../support/database/schema-places.ts';

const endpoints = await declaredEndpoints();

interface Schema {
  [keyword: string]: any;
}
interface Described {
  parameters?: { name: string; in: string; schema: Schema }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>;
  [field: string]: any;
}

const document = describeApi(endpoints, 'test') as unknown as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, Schema> };
};
const { schemas } = document.components;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    name: `${method.toUpperCase()} ${path}`,
    keys: ['paths', path, method],
    path,
    operation,
  })),
);

/** Every schema of the document, and where it is. */
function schemasIn(value: unknown, keys: readonly string[] = []): { at: string; keys: readonly string[]; schema: Schema }[] {
  if (typeof value !== 'object' || value === null) return [];
  const inner = Object.entries(value)
    .filter(([key]) => key !== 'example' && key !== 'examples')
    .flatMap(([key, more]) => schemasIn(more, [...keys, key]));
  const isSchema = !Array.isArray(value) && !['properties', 'schemas'].includes(keys.at(-1) ?? '');
  return isSchema ? [{ at: keys.map((key) => `/${key}`).join(''), keys, schema: value }, ...inner] : inner;
}
const all = schemasIn(document);
const faulty = (isRight: (schema: Schema) => boolean) => all.filter(({ schema }) => !isRight(schema)).map(({ at }) => at);

describe('the document', () => {
  it('has what linters and generators ask for: an address, a contact, a list of tags, paths that differ', () => {
    const { servers, info, tags } = document as unknown as Record<string, any>;
    expect(servers).toEqual([expect.objectContaining({ url: '/' })]);
    expect(info).toMatchObject({ title: 'Perdura', version: 'test', contact: {}, license: {}, description: expect.any(String) });
    const used = new Set(operations.flatMap(({ operation }) => operation.tags));
    expect(tags.map(({ name }: { name: string }) => name).sort()).toEqual([...used].sort());
    const shapes = Object.keys(document.paths).map((path) => path.replaceAll(/\{\w+\}/g, '{}'));
    expect(shapes.filter((path, index) => shapes.indexOf(path) !== index || /\/$|\?/.test(path))).toEqual([]);
  });
});

describe('the tags', () => {
  it('each have a description and a place among the groups, so that the reference lists none under More', () => {
    const { tags, 'x-tagGroups': groups } = document as unknown as Record<string, any>;
    expect(groups.map(({ name }: { name: string }) => name)).not.toContain('More');
    expect(tags.filter(({ name, description }: Record<string, string>) => description === `${name}.`)).toEqual([]);
    expect(groups.flatMap(({ tags: names }: { tags: string[] }) => names)).toEqual(tags.map(({ name }: any) => name));
  });

  it('that nothing is known of come last', () => {
    const { tags, 'x-tagGroups': groups } = describeTags(new Set(['Tasks', 'Weather']));
    expect(tags.at(-1)).toEqual({ name: 'Weather', description: 'Weather.' });
    expect(groups).toEqual([
      { name: 'Runs', tags: ['Tasks'] },
      { name: 'More', tags: ['Weather'] },
    ]);
  });

  it('say of no operation for administrators that its caller owns something', () => {
    const of_administrators = operations.filter(({ operation }) => /^For administrators/.test(operation.description));
    expect(of_administrators.map(({ name }) => name)).toContain('GET /api/system');
    expect(of_administrators.filter(({ operation }) => /Only for what the caller owns/.test(operation.description))).toEqual([]);
  });
});

describe('every operation', () => {
  it('is found', () => {
    expect(operations.length).toBeGreaterThan(100);
    expect(endpoints.filter(({ kind }) => !['value', 'page', 'events', 'file', 'none'].includes(kind))).toEqual([]);
  });

  it('has its own name, a tag, and a summary that reads as a title', () => {
    const ids = operations.map(({ operation }) => operation.operationId as string);
    expect(ids.filter((id, index) => !/^[a-z]+(?:_[a-z]+)*$/.test(id) || ids.indexOf(id) !== index)).toEqual([]);
    const named = ({ operation: { summary, tags } }: (typeof operations)[number]) =>
      /^[A-Z][^\n]*[^.\s]$/.test(summary) && tags.every((tag: string) => /^[A-Z]/.test(tag));
    expect(operations.filter((operation) => !named(operation)).map(({ name }) => name)).toEqual([]);
  });

  it('names the parameters of its path, and no others', () => {
    const parametersOf = ({ parameters = [] }: Described) =>
      parameters.filter((one) => one.in === 'path').map(({ name }) => name);
    for (const { name, path, operation } of operations)
      expect([name, ...parametersOf(operation)]).toEqual([name, ...[...path.matchAll(/\{(\w+)\}/g)].map(([, part]) => part)]);
  });

  it('has named types for what it takes and returns, from which clients are generated', () => {
    const isNamed = (schema: Schema): boolean =>
      '$ref' in schema || (schema.type === 'array' && isNamed(schema.items)) || (schema.anyOf?.every(isNamed) ?? false);
    const unnamed = operations.flatMap(({ name, operation: { requestBody, responses } }) =>
      [requestBody, ...Object.values(responses)].flatMap((body) =>
        Object.entries(body?.content ?? {})
          .filter(([type, { schema }]) => type !== 'multipart/form-data' && schema.format !== 'binary' && !isNamed(schema))
          .map(([type]) => `${name} ${type}`),
      ),
    );
    expect(unnamed).toEqual([]);
  });

  it('returns a body, except where there is nothing to return', () => {
    const isSilent = ({ responses }: Described) => {
      const [success = ''] = Object.keys(responses).sort();
      return success !== '204' && !responses[success]?.content;
    };
    expect(operations.filter(({ operation }) => isSilent(operation)).map(({ name }) => name)).toEqual([]);
  });
});

describe('the answer of an operation', () => {
  const resolved = ({ $ref, ...schema }: Schema): Schema => ($ref ? schemas[$ref.split('/').at(-1)]! : schema);

  it('may carry warnings about its request, if it is an object', () => {
    const silent = operations.flatMap(({ name, path, operation }) =>
      Object.entries(operation.responses).flatMap(([status, { content }]) => {
        const { type, properties } = resolved(content?.['application/json']?.schema ?? {});
        return path.startsWith('/api/') && status < '300' && type === 'object' && !properties?.warnings ? [name] : [];
      }),
    );
    expect(silent).toEqual([]);
  });

  it('may be that its Idempotency-Key is malformed or was used for another request', () => {
    const keyed = operations.filter(({ operation }) => operation.parameters?.some(({ name }) => name === 'Idempotency-Key'));
    expect(keyed.length).toBeGreaterThan(10);
    const silent = keyed.filter(({ operation: { responses } }) => !('400' in responses && '409' in responses));
    expect(silent.map(({ name }) => name)).toEqual([]);
  });
});

/** Numbers that are judged against what the run has and asks, and neither stored nor added to others. */
const UNLIMITED = [
  '/AnswerRequest/properties/content/*',
  '/ForkRequest/properties/from_step',
  '/ForkChanges/properties/messages/*/properties/step',
  '/ForkChanges/properties/messages/*/properties/position',
];

/** The numbers of a request without an upper limit. */
function unlimitedIn(schema: Schema, at: string, within: readonly string[] = []): string[] {
  const {
    $ref,
    type,
    maximum,
    const: only,
    properties = {},
    items,
    anyOf = [],
    oneOf = [],
    allOf = [],
    additionalProperties: more,
  } = schema;
  if ($ref) {
    const name = $ref.split('/').at(-1);
    return within.includes(name) ? [] : unlimitedIn(schemas[name]!, `/${name}`, [...within, name]);
  }
  const numeric = [type].flat().some((one) => one === 'integer' || one === 'number');
  const parts = [
    ...Object.entries<Schema>(properties).map(([name, part]) => [part, `${at}/properties/${name}`] as const),
    ...[...anyOf, ...oneOf, ...allOf].map((part: Schema) => [part, at] as const),
    ...[items, more].filter((part) => typeof part === 'object').map((part) => [part, `${at}/*`] as const),
  ];
  const limited = only !== undefined || (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER);
  return [...(numeric && !limited ? [at] : []), ...parts.flatMap(([part, place]) => unlimitedIn(part, place, within))];
}

it('a number that a request under /api takes has an upper limit, because it is stored, and added to others', () => {
  const found = operations
    .filter(({ path }) => path.startsWith('/api/'))
    .flatMap(({ name, operation }) => {
      const schema = operation.requestBody?.content['application/json']?.schema;
      return schema ? unlimitedIn(schema, name) : [];
    });
  expect([...new Set(found)].sort()).toEqual(UNLIMITED.sort());
});

describe('every schema', () => {
  it('says something in each of its descriptions', () => {
    expect(faulty(({ description }) => typeof description !== 'string' || /\w{2}/.test(description))).toEqual([]);
  });

  it('names each value that it takes', () => {
    const isWord = (value: unknown) => typeof value !== 'string' || /^[\w.*-]+$/.test(value);
    expect(faulty(({ enum: values = [], const: one }) => [...(Array.isArray(values) ? values : []), one].every(isWord))).toEqual(
      [],
    );
  });

  it('has limits that leave room', () => {
    const leavesRoom = ({ minLength, maxLength, minItems, maxItems, minimum, maximum }: Schema) =>
      (minLength ?? 0) <= 1 &&
      (maxLength ?? 100) >= 64 &&
      (minItems ?? 0) <= 1 &&
      (maxItems ?? 100) >= 64 &&
      !(minimum >= maximum);
    expect(faulty(leavesRoom)).toEqual([]);
  });

  it('of an object has fields, unless it takes any', () => {
    const isEmpty = ({ type, properties = {}, additionalProperties: more = false, oneOf }: Schema) =>
      type === 'object' && Object.keys(properties).length === 0 && more === false && !oneOf;
    expect(faulty((schema) => !isEmpty(schema))).toEqual([]);
  });
});

describe('generators of clients', () => {
  const alternativesOf = ({ anyOf = [], oneOf = [] }: Schema): Schema[] => [...anyOf, ...oneOf];

  it('find no intersection with alternatives, of which they make no type', () => {
    const resolved = (schema: Schema): Schema => (schema.$ref ? schemas[schema.$ref.split('/').at(-1)]! : schema);
    const isPlain = (part: Schema) => alternativesOf(resolved(part)).length === 0;
    expect(faulty(({ allOf = [] }) => allOf.every(isPlain))).toEqual([]);
  });

  it('find a name for each object within one of the alternatives that a field tells apart', () => {
    const isNameless = ({ type, properties }: Schema) => type === 'object' && properties !== undefined;
    const namelessIn = (schema: Schema) => schemasIn(schema).filter(({ at, schema }) => at !== '' && isNameless(schema));
    expect(all.some(({ schema }) => schema.oneOf?.length > 10)).toBe(true);
    expect(faulty(({ oneOf = [] }) => oneOf.filter(isNameless).flatMap(namelessIn).length === 0)).toEqual([]);
  });
});

describe('the samples of clients', () => {
  const sampled = endpoints.filter(
    ({ path, kind, upload }) => path.startsWith('/api/') && ['value', 'page', 'none'].includes(kind) && !upload,
  );
  const operationOf = ({ path, method }: (typeof endpoints)[number]) => document.paths[path]![method.toLowerCase()]!;

  it('exist in both languages for each operation, except for the one whose body is a whole run', () => {
    const without = sampled.filter((endpoint) => operationOf(endpoint)['x-codeSamples']?.length !== 2);
    expect(sampled.length).toBeGreaterThan(100);
    expect(without.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /api/datasets/{id}/items/import']);
  });

  it('write a body as Python does', () => {
    const connection_config = { url: 'https://a', on: true, off: false, none: null, seven: 7, empty: [], many: ['b', 11] };
    const [, { source } = { source: '' }] = codeSamples(mcps.create, { name: 'a', transport_type: 'http', connection_config });
    expect(source).toContain(`json={
        "name": "a",
        "transport_type": "http",
        "connection_config": {
            "url": "https://a",
            "on": True,
            "off": False,
            "none": None,
            "seven": 7,
            "empty": [],
            "many": [
                "b",
                11,
            ],
        },
    })`);
  });

  it('send a body that the operation takes, and leave out no query that it needs', () => {
    const refused = sampled.filter((endpoint) => {
      const { 'x-codeSamples': samples, requestBody } = operationOf(endpoint);
      const body = (requestBody?.content['application/json'] as { example?: object } | undefined)?.example ?? {};
      return samples && !((endpoint.body?.safeParse(body).success ?? true) && endpoint.query.safeParse({}).success);
    });
    expect(refused.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  });
});

describe('every example', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'api');
  const { sampleOf } = describedBodies(schemas);
  const reference = (keys: readonly string[]) => schemaReference('api', keys);

  it('fits its schema', () => {
    const examples = all.flatMap(({ at, keys, schema: { example, examples = [], schema } }) =>
      [...(example === undefined ? [] : [example]), ...(Array.isArray(examples) ? examples : [])].map((it) => ({
        at,
        keys: schema === undefined ? keys : [...keys, 'schema'],
        it,
      })),
    );
    expect(examples.length).toBeGreaterThan(60);
    for (const { at, keys, it } of examples) {
      const fits = ajv.compile({ $ref: reference(keys) });
      fits(it);
      expect([at, it, fits.errors]).toEqual([at, it, null]);
    }
  });

  it('makes a body that its operation takes', () => {
    for (const { name, keys, operation } of operations) {
      const schema = operation.requestBody?.content['application/json']?.schema;
      if (!schema) continue;
      const fits = ajv.compile({ $ref: reference([...keys, 'requestBody', 'content', 'application/json', 'schema']) });
      fits(sampleOf(schema));
      expect([name, fits.errors]).toEqual([name, null]);
    }
  });
});
