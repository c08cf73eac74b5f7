import { expect, it } from 'vitest';
import { createKnowledge } from '../../src/knowledge/knowledge.ts';

const here = (name: string, score: number) => ({
  ...{ item_id: name, source_id: 'here', name, tags: [], position: 0, content: name },
  ...{ score, text_score: score, vector_score: score },
});
const elsewhere = {
  id: 'far',
  name: 'far',
  source_type: 'vector_db',
  connection_config: { url: 'https://far.test', collection: 'c' },
};

/** Knowledge with passages of these scores here, and in another database. */
function knowledgeOf(scores: { here: number[]; far: number[]; unnamed?: number[] }) {
  const unnamed = (scores.unnamed ?? []).map((score) => ({ score, payload: { text: 'unnamed' } }));
  const points = scores.far.map((score) => ({ score, payload: { text: `far ${score}`, name: `far ${score}` } }));
  const identity = <T>(value: T) => value;
  return createKnowledge({
    embedder: { name: 'e', embed: async (texts) => texts.map(() => [1, 0]) },
    redact: () => ({ text: identity, value: identity, error: identity }),
    find: async () => scores.here.map((score) => here(`here ${score}`, score)),
    remoteSources: async () => [elsewhere],
    fetch: async () => Response.json({ result: { points: [...points, ...unnamed] } }),
    resolveAddress: () => Promise.reject(new Error('not asked for')),
  });
}

const search = async (scores: Parameters<typeof knowledgeOf>[0], more: object = {}) =>
  (await knowledgeOf(scores).search({ query: 'where', limit: 3, principal: 'p', ...more })).items.map(({ name }) => name);

it('has the best passages of here and elsewhere, best first, and no more than asked for', async () => {
  const scores = { here: [0.9, 0.5, 0.3], far: [0.7, 0.6, 0.1] };
  expect(await search(scores)).toEqual(['here 0.9', 'far 0.7', 'far 0.6']);
  expect(await search(scores, { limit: 5 })).toHaveLength(5);
  expect(await search(scores, { limit: 6 })).toHaveLength(6);
  expect(await search(scores, { limit: 7 })).toHaveLength(6);
});

it('asks no other database for what has a tag or no question: there are neither tags nor newest ones', async () => {
  const scores = { here: [0.2], far: [0.7] };
  expect(await search(scores, { tags: ['a'] })).toEqual(['here 0.2']);
  expect(await search(scores, { query: ' ' })).toEqual(['here 0.2']);
  expect(await search(scores, { tags: [] })).toEqual(['far 0.7', 'here 0.2']);
});

it('names a passage of another database by its source if it has no name there', async () => {
  expect(await search({ here: [], far: [0.7], unnamed: [0.4] })).toEqual(['far 0.7', 'far']);
});
