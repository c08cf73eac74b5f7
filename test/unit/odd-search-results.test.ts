import { expect, it } from 'vitest';
import { webSearchTool } from '../../src/tools/builtin/web-search.ts';
import type { ToolCall } from '../../src/tools/source.ts';
import { changedAt, ODD_VALUES, type Path, placesIn } from '../support/contract/odd-values.ts';

const ANSWER = {
  results: [
    { title: 'Cats', url: 'https://example.org/cats', content: 'An excerpt' },
    { title: 'Dogs', url: 'https://example.org/dogs', content: 'Another' },
  ],
};
const search = (answer: unknown) =>
  webSearchTool.create({ search_url: 'https://search.test', searchFetch: async () => Response.json(answer) })(
    { arguments: { query: 'pets' } } as unknown as ToolCall,
    new AbortController().signal,
  );

it('results are numbered', async () => {
  const content = '1. Cats\nhttps://example.org/cats\nAn excerpt\n\n2. Dogs\nhttps://example.org/dogs\nAnother';
  expect(await search(ANSWER)).toEqual({ content, failed: false });
});

it.each(placesIn(ANSWER.results).map((path): [string, Path] => [path.join('.'), ['results', ...path]]))(
  'what is odd at %s of the results costs no other result',
  async (_, path) => {
    for (const [name, value] of ODD_VALUES) {
      const { content, failed } = await search(changedAt(ANSWER, path, value));
      expect(failed, name).toBe(false);
      expect(content, name).toContain(path[1] === 0 ? 'Dogs\nhttps://example.org/dogs' : 'Cats\nhttps://example.org/cats');
      expect(content, name).not.toMatch(/undefined|null|\[object/);
    }
  },
);

it.each([null, true, 'odd', {}, { results: null }, { results: 'odd' }, { results: { 0: 'odd' } }])(
  'without a list, as in %j, the call fails in words for the model',
  async (answer) => {
    expect(await search(answer)).toEqual({ content: 'The search endpoint sent no list of results', failed: true });
  },
);
