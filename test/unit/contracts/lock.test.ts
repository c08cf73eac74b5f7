import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fieldAliases, isProtective } from '../../../src/contracts/common.ts';

const CONTRACTS = join(import.meta.dirname, '../../../src/contracts');
const modules = readdirSync(CONTRACTS).map((name) => name.replace('.ts', ''));

/** A schema as clients see it, with what JSON Schema cannot say: fields that protect, and other names that are read. */
const described = (schema: z.ZodType, io: 'input' | 'output') =>
  z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const { names, read } = fieldAliases(zodSchema as unknown as z.ZodType);
      if (names) jsonSchema['x-also-named'] = names;
      if (read) jsonSchema['x-also-read'] = true;
      if (isProtective(zodSchema as unknown as z.ZodType)) jsonSchema['x-protective'] = true;
    },
  });

const REPLIES = ['reply', 'streamed', 'refusal'];

/** Everything a module exports, as JSON: constants as they are, schemas both as requests and as replies. */
function locked(value: unknown, name = ''): unknown {
  if (value instanceof z.ZodType) {
    if (name === '') return { request: described(value, 'input'), reply: described(value, 'output') };
    return described(value, REPLIES.includes(name) ? 'output' : 'input');
  }
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return value.map((item) => locked(item, name));
  if (typeof value !== 'object' || value === null) return value;
  // The fields of a group are exported separately; those of an endpoint have a direction.
  const isEndpoint = 'operation' in value && 'method' in value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, locked(inner, isEndpoint ? key : '')]));
}

describe('the interface', () => {
  it.each(modules)('of %s is the one that was agreed', async (name) => {
    const exported = (await import(`../../../src/contracts/${name}.ts`)) as Record<string, unknown>;
    const text = `${JSON.stringify(locked({ ...exported }), null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(`./locked/${name}.json`);
  });
});
