import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { withoutLimits } from '../../../src/api/http/stored-replies.ts';
import { toReply } from '../../../src/api/http/validate.ts';
import { describeApi } from '../../../src/api/service/openapi.ts';
import { ProviderCreate } from '../../../src/contracts/providers.ts';
import { Workflow, WorkflowCreate } from '../../../src/contracts/workflows.ts';
import { declaredEndpoints } from '../../support/contract/endpoints.ts';

const endpoints = await declaredEndpoints();
const replies = endpoints.flatMap(({ operation, reply }) => (reply ? [[operation, reply] as const] : []));

const PARTS = ['element', 'innerType', 'keyType', 'valueType', 'in', 'out', 'catchall', 'left', 'right', 'rest'];
/** Issued by the service. */
const ISSUED = ['uuid', 'datetime'];

/** Where a schema limits the length, the range or the form of a value. */
function limitsIn(schema: z.core.$ZodType, path: string): string[] {
  const def = schema._zod.def as unknown as Record<string, any>;
  if (def.type === 'lazy') return [`${path}: lazy`];
  const own = def.checks?.length > 0 || (def.type === 'string' && def.format && !ISSUED.includes(def.format));
  return [
    ...(own ? [path] : []),
    ...PARTS.flatMap((part) => (def[part]?._zod ? limitsIn(def[part], `${path}:${part}`) : [])),
    ...[...(def.options ?? []), ...(def.items ?? [])].flatMap((one: z.ZodType, index) => limitsIn(one, `${path}|${index}`)),
    ...Object.entries((def.shape ?? {}) as z.ZodRawShape).flatMap(([name, field]) => limitsIn(field, `${path}.${name}`)),
  ];
}

it('the contracts limit what is sent', () => {
  expect(limitsIn(WorkflowCreate, '')).toEqual(expect.arrayContaining(['.max_turns:innerType', '.title:innerType:innerType']));
});

it.each(replies)('%s shows what is stored, however long it is', (operation, reply) => {
  expect(limitsIn(withoutLimits(reply), operation)).toEqual([]);
});

const schemas = describeApi(endpoints, 'test').components?.schemas as Record<string, any>;

describe('the description', () => {
  it('limits requests alone', () => {
    expect(JSON.stringify(schemas.WorkflowCreate.properties.title)).toContain('"maxLength":500');
    expect(JSON.stringify(schemas.Workflow.properties.title)).not.toContain('maxLength');
    expect(schemas.Workflow.properties.id.format).toBe('uuid');
  });

  it('requires and names the same fields in replies', () => {
    expect(Object.keys(schemas.Workflow.properties)).toEqual(expect.arrayContaining(Object.keys(Workflow.shape)));
    expect(schemas.Workflow.required).toContain('title');
  });
});

it('a reply still drops what the contract does not name, and refuses another type', () => {
  const reply = ProviderCreate.pick({ name: true, default_model: true });
  expect(toReply(reply, { name: '', default_model: 'm'.repeat(501), key: 's' })).toEqual({
    name: '',
    default_model: 'm'.repeat(501),
  });
  expect(() => toReply(reply, { name: 1 })).toThrow(z.ZodError);
});
