import OpenAI from 'openai';
import { z } from 'zod';
import { Misshapen, sentenceOfError } from '../domain/reason.ts';
import { toModelFailure } from './failures.ts';

/** Turns texts into vectors of length 1. */
export interface Embedder {
  /** Identifies the embedder: vectors with different ids must not be compared. */
  name: string;
  /** Returns the vectors in the order of the texts. Throws a readable error if the endpoint fails. */
  embed(texts: readonly string[]): Promise<number[][]>;
}

export interface EmbeddingsEndpoint {
  base_url: string;
  model: string;
  api_key: string | null;
}

const BATCH = 64;
const TIMEOUT_MS = 30_000;
/** The largest number of dimensions that pgvector supports. */
const MOST_NUMBERS = 16_000;

/** The part of an answer that is used. Some endpoints leave out the positions of the texts. */
const Answer = z.object({
  data: z.array(z.object({ index: z.int().nonnegative().nullish(), embedding: z.array(z.number()).min(1).max(MOST_NUMBERS) })),
});

export function createEmbedder({ base_url, model, api_key }: EmbeddingsEndpoint, fetch: typeof globalThis.fetch): Embedder {
  const client = new OpenAI({ baseURL: base_url, apiKey: api_key ?? 'none', maxRetries: 1, timeout: TIMEOUT_MS, fetch });
  return {
    name: model,
    async embed(texts) {
      const vectors: number[][] = [];
      for (let at = 0; at < texts.length; at += BATCH) {
        const input = texts.slice(at, at + BATCH);
        vectors.push(...(await embedBatch(client, { model, input })));
      }
      return vectors;
    },
  };
}

async function embedBatch(client: OpenAI, { model, input }: { model: string; input: string[] }): Promise<number[][]> {
  try {
    return parseVectors(await client.embeddings.create({ model, input, encoding_format: 'float' }), input.length);
  } catch (error) {
    const { message } = toModelFailure(error, { expected: 'a list of vectors' }) as Error;
    throw new Error(`The embedding endpoint does not serve: ${message}`);
  }
}

/**
 * Returns the vectors in the order of the texts. Throws `Misshapen`, which names the fault: a wrong vector would be found by
 * every search, or by none.
 */
function parseVectors(answer: unknown, texts: number): number[][] {
  const read = Answer.safeParse(answer);
  if (!read.success) throw new Misshapen(sentenceOfError(read.error));
  const { data } = read.data;
  if (data.length !== texts) throw new Misshapen(`${data.length} vectors for ${texts} texts`);
  const vectors = data.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0)).map(({ embedding }) => unit(embedding));
  if (new Set(vectors.map(({ length }) => length)).size > 1) throw new Misshapen('vectors of different lengths');
  return vectors;
}

/** Scales a vector to length 1, in single precision, in which vectors are stored: Postgres refuses a smaller number. */
function unit(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  if (length === 0 || length === Number.POSITIVE_INFINITY) throw new Misshapen('a vector without a direction');
  return vector.map((value) => Math.fround(value / length));
}
