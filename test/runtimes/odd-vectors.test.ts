import { expect, it } from 'vitest';
import { createEmbedder } from '../../src/runtimes/embeddings.ts';
import { changedAt, codeIn, ODD_VALUES, placesIn } from '../support/contract/odd-values.ts';

const ANSWER = {
  object: 'list',
  model: 'demo',
  data: [
    { object: 'embedding', index: 1, embedding: [1, 0] },
    { object: 'embedding', index: 0, embedding: [3, 4] },
  ],
  usage: { prompt_tokens: 2, total_tokens: 2 },
};

const embed = (answer: object): Promise<number[][]> => {
  const fetch = async () => Response.json(answer);
  return createEmbedder({ base_url: 'http://vectors.test/v1', model: 'demo', api_key: null }, fetch).embed(['first', 'second']);
};

/** A vector that can be stored in single precision and compared with the others. */
const isVector = (vector: unknown) =>
  Array.isArray(vector) && vector.length === 2 && vector.every((value) => Number.isFinite(value) && Math.fround(value) === value);

it('vectors have length 1 and the order of their texts', async () => {
  expect(await embed(ANSWER)).toEqual([
    [Math.fround(0.6), Math.fround(0.8)],
    [1, 0],
  ]);
});

it('vectors without positions are in the order of their texts', async () => {
  const data = [{ embedding: [0, 1] }, { embedding: [1, 0] }];
  expect(await embed({ data })).toEqual([
    [0, 1],
    [1, 0],
  ]);
});

it.each(placesIn(ANSWER).map((path) => [path.join('.'), path] as const))(
  'vectors with anything at %s are vectors or a refusal',
  async (_, path) => {
    const faults: unknown[] = [];
    for (const [name, value] of ODD_VALUES) {
      try {
        const vectors = await embed(changedAt(ANSWER, path, value));
        if (vectors.length !== 2 || !vectors.every(isVector)) faults.push([name, vectors]);
      } catch (error) {
        const { message } = error as Error;
        if (!message.startsWith('The embedding endpoint does not serve: ') || codeIn(message)) faults.push([name, error]);
      }
    }
    expect(faults).toEqual([]);
  },
);

const WRONG: [string, object, string][] = [
  ['that is no number', { data: [{ embedding: [1, null] }, { embedding: [1, 0] }] }, 'data.0.embedding.1: '],
  ['without a direction', { data: [{ embedding: [0, 0] }, { embedding: [1, 0] }] }, 'a vector without a direction'],
  ['of another length', { data: [{ embedding: [1] }, { embedding: [1, 0] }] }, 'vectors of different lengths'],
  ['that is missing', { data: [{ embedding: [1, 0] }] }, '1 vectors for 2 texts'],
];
it.each(WRONG)('a vector %s is refused with what is wrong', async (_, answer, said) => {
  await expect(embed(answer)).rejects.toThrow(`sent something that is not a list of vectors: ${said}`);
});

it('a number that is too small for single precision counts as none', async () => {
  expect(await embed({ data: [{ embedding: [1, 1e-60] }, { embedding: [1, 0] }] })).toEqual([
    [1, 0],
    [1, 0],
  ]);
});
