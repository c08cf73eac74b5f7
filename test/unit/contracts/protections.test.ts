import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findUnknownFields, unwrapSchema } from '../../../src/api/http/fields.ts';
import type { Endpoint } from '../../../src/contracts/endpoint.ts';
import { PROTECTIONS, protects } from '../../../src/contracts/protections.ts';

const CONTRACTS = resolve(import.meta.dirname, '../../../src/contracts');

function endpointsIn(value: unknown): Endpoint[] {
  if (typeof value !== 'object' || value === null || '_zod' in value) return [];
  if ('operation' in value && 'path' in value) return [value as Endpoint];
  return Object.values(value).flatMap(endpointsIn);
}

const files = globSync('*.ts', { cwd: CONTRACTS });
const modules = await Promise.all(files.map((file) => import(resolve(CONTRACTS, file)) as Promise<object>));
const endpoints = [...new Set(modules.flatMap((module) => endpointsIn({ ...module })))];

/** The fields of a body; null if it takes any field, or is not an object. */
function fieldsOf({ body }: Endpoint): Record<string, z.ZodType> | null {
  const form = body && unwrapSchema(body);
  if (!(form instanceof z.ZodObject)) return null;
  const { catchall } = form.def;
  return catchall && !(catchall instanceof z.ZodNever) ? null : (form.shape as Record<string, z.ZodType>);
}

const bodies = endpoints.flatMap((endpoint) => {
  const fields = fieldsOf(endpoint);
  return fields ? [{ name: `${endpoint.method} ${endpoint.path}`, endpoint, fields }] : [];
});

/** The same field as people mistype it. */
const spellings = (name: string) => [
  name,
  name.replace(/(.)\1|p|d/, (found) => found.slice(1) || ''),
  name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
  name.toUpperCase(),
  `${name}s`,
];

describe('a field that protects', () => {
  it('is known by its record, for every field of an operation that is marked', () => {
    const marked = bodies.flatMap(({ fields }) => Object.keys(fields).filter((name) => protects(fields[name] as z.ZodType)));
    // Any kind of record may have a `config`; that of a guardrail refuses what is unknown in it.
    expect([...new Set(marked)].filter((name) => name !== 'config').sort()).toEqual([...PROTECTIONS.keys()].sort());
  });

  it.each(bodies)('is refused by $name if it is not a field there', ({ endpoint, fields }) => {
    for (const [name, owner] of PROTECTIONS) {
      for (const sent of spellings(name).filter((one) => !(one in fields))) {
        const [found] = findUnknownFields(endpoint.body as z.ZodType, { [sent]: [] });
        expect(found, sent).toMatchObject({ is_refused: true });
        if (!(name in fields)) expect(found?.message, sent).toContain(`is a field of ${owner}`);
      }
    }
  });
});
