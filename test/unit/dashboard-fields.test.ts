import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { ForkChanges } from '../../src/contracts/fork-changes.ts';
import { WorkflowCreate } from '../../src/contracts/workflows.ts';
import { toFields } from '../../src/dashboard/resources/fields.ts';
import { toControls, toWire } from '../../src/dashboard/resources/values.ts';

const CONTRACTS = join(import.meta.dirname, '../../src/contracts');
const WRITTEN = /(Create|Update|Changes|Bounds)$/;

/** Every object of the contracts that a person may fill in, by name. */
async function writtenSchemas(): Promise<[string, z.ZodObject][]> {
  const files = (await readdir(CONTRACTS)).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(files.map((file) => import(join(CONTRACTS, file)) as Promise<Record<string, unknown>>));
  return modules
    .flatMap((exported) => Object.entries(exported))
    .filter((entry): entry is [string, z.ZodObject] => WRITTEN.test(entry[0]) && entry[1] instanceof z.ZodObject);
}

const PLAIN = ['some text', 1, true];

it('asks for JSON only where no simpler control holds the value', async () => {
  const schemas = await writtenSchemas();
  expect(schemas.length).toBeGreaterThan(10);
  const plain = schemas.flatMap(([name, schema]) =>
    toFields(schema)
      .filter(({ control }) => control === 'json')
      .filter((field) => PLAIN.some((value) => schema.shape[field.name]!.safeParse(value).success))
      .map((field) => `${name}.${field.name}`),
  );
  expect(plain).toEqual([]);
});

it.each([WorkflowCreate, ForkChanges])('offers yes, no and the default for a setting that may be left to the model', (schema) => {
  const fields = toFields(schema).filter(({ name }) => name === 'parallel_tool_calls');
  expect(fields).toMatchObject([{ control: 'yes_no', nullable: true }]);
  const wire = (parallel_tool_calls: unknown) => toWire(fields, toControls(fields, { parallel_tool_calls })).values;
  expect([true, false, null].map(wire)).toEqual([true, false, null].map((parallel_tool_calls) => ({ parallel_tool_calls })));
});

it('explains the fields of a form without words that only the API and its makers use', async () => {
  const schemas = await writtenSchemas();
  const texts = schemas.flatMap(([name, schema]) =>
    toFields(schema).map((field) => `${name}.${field.name}: ${field.description ?? ''}`),
  );
  expect(texts).toContain('MemoryCreate.ttl: When it expires; if empty: never');
  expect(texts.filter((text) => /\bnull\b|\blanes?\b|\bepochs?\b/i.test(text))).toEqual([]);
});
