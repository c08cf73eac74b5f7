import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { describeMissingToken } from '../../../src/api/checks/needs.ts';
import { createWarnings, listServiceFieldWarnings, withWarnings } from '../../../src/api/http/warnings.ts';

/** The warnings of a request, what its reply says of the preference, and the paths that fail the request. */
function request(prefer: string | string[] | undefined, { method = 'POST', body = {} as unknown } = {}) {
  const applied: unknown[] = [];
  const reply = { header: (name: string, value: string) => void applied.push([name, value]) };
  const headers = prefer === undefined ? {} : { prefer };
  const warnings = createWarnings({ method, headers, body } as never, reply as never);
  const warn = (...messages: string[]) => {
    try {
      warnings.warn(...messages.map((message) => ({ path: message, message })));
      return [];
    } catch (error) {
      const { code, errors } = error as { code: string; errors: { path: string }[] };
      return [code, ...errors.map(({ path }) => path)];
    }
  };
  return { warnings, applied, warn };
}

describe('a preference', () => {
  it.each([
    ['handling=strict', true],
    ['Handling = "Strict"', true],
    ['respond-async, handling=strict', true],
    ['wait=10; handling=strict', true],
    [['respond-async', 'handling=strict'], true],
    ['handling=lenient', false],
    ['handling=strictly', false],
    ['xhandling=strict', false],
    [undefined, false],
  ])('%j for strict handling: %s', (prefer, strict) => {
    const { warnings, applied, warn } = request(prefer);
    expect([warnings.strict, applied]).toEqual([strict, strict ? [['preference-applied', 'handling=strict']] : []]);
    expect(warn('colour')).toEqual(strict ? ['strict_handling', 'colour'] : []);
  });

  it('changes nothing for a request that reads', () => {
    const { warnings, applied, warn } = request('handling=strict', { method: 'GET' });
    expect([warnings.strict, applied, warn('colour')]).toEqual([false, [], []]);
  });

  it('refuses no warning that the sender has read before, nor one that is no fault of the request', () => {
    const body = { warnings: [{ path: 'x', message: 'known' }], needs: ['later'] };
    const { warnings, warn } = request('handling=strict', { body });
    expect(warn('known', describeMissingToken('later'))).toEqual([]);
    expect(warn('known', 'new')).toEqual(['strict_handling', 'new']);
    for (const other of [null, [body], 'x'])
      expect(request('handling=strict', { body: other }).warn('known')).toEqual(['strict_handling', 'known']);
    warnings.note({ path: 'y', message: 'a fact' });
    expect(warnings.warnings.at(-1)).toEqual({ path: 'y', message: 'a fact' });
  });
});

describe('a field that the service sets', () => {
  const body = z.object({ name: z.string() });
  const reply = z.object({
    name: z.string(),
    id: z.string(),
    created_by: z.string(),
    updated_at: z.string(),
    needs: z.array(z.string()),
  });
  const warned = (sent: unknown, now: unknown) => listServiceFieldWarnings(sent, { body, reply }, now).map(({ path }) => path);
  it('is warned of if its value is another one', () => {
    const now = { name: 'a', id: 'i', created_by: 'me', updated_at: 't', needs: [] };
    expect(warned({ ...now, name: 'b' }, now)).toEqual([]);
    expect(warned({ ...now, created_by: 'you', updated_at: 'later', needs: ['x'], other: 1 }, now)).toEqual(['created_by']);
    expect(warned({ id: 'i' }, null)).toEqual(['id']);
    expect(warned(null, now)).toEqual([]);
  });
});

it('the warnings of a reply come after those that it has, and only an object has any', () => {
  const more = { warnings: [{ path: 'b', message: 'b' }] };
  const one = { path: 'a', message: 'a' };
  expect(withWarnings({ id: 1, warnings: [one] }, more)).toEqual({ id: 1, warnings: [one, ...more.warnings] });
  expect([withWarnings({ id: 1 }, { warnings: [] }), withWarnings([1], more), withWarnings(null, more)]).toEqual([
    { id: 1 },
    [1],
    null,
  ]);
});
