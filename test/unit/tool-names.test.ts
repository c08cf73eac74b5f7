import { describe, expect, it } from 'vitest';
import { freeToolName, isNumbered, prefixName } from '../../src/domain/tool-names.ts';

describe('the name that a tool is shown by', () => {
  /** Gives a tool of this name its name among the used ones, and counts it as used. */
  const take = (used: Map<string, object>, name: string) => {
    const shown = freeToolName(name, 'server', used);
    used.set(shown, {});
    return shown;
  };

  it('is its own, then that with its source, then one with a number', () => {
    const used = new Map<string, object>();
    expect([1, 2, 3, 4].map(() => take(used, 'search'))).toEqual([
      'search',
      'server_search',
      'server_search_2',
      'server_search_3',
    ]);
  });

  it.each([56, 57, 59, 60, 63, 64])('has at most 64 characters and is known by its number, if the tool has one of %d', (length) => {
    const used = new Map<string, object>();
    const own = 'x'.repeat(length);
    const names = [1, 2, 3, 4].map(() => take(used, own));
    expect(new Set(names).size).toBe(4);
    expect(names.filter((name) => name.length > 64)).toEqual([]);
    const prefixed = prefixName('server', own);
    expect(names.map((name) => isNumbered(name, prefixed))).toEqual([false, false, true, true]);
  });
});
