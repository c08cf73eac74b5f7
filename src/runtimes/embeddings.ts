import OpenAI from 'openai';
import { modelFailureOf } from './failures.ts';

/** Turns texts into vectors of length 1. */
export interface Embedder {
  /** Identifies the embedder: vectors with different ids must not be compared. */
  name: string;
  /** In the order of the texts. Throws a readable error if the endpoint fails. */
  embed(texts: readonly string[]): Promise<number[][]>;
}

export interface EmbeddingsEndpoint {
  base_url: string;
  model: string;
  api_key: string | null;
}

const BATCH = 64;
const TIMEOUT_MS = 30_000;

export function embedderOf({ base_url, model, api_key }: EmbeddingsEndpoint, fetch: typeof globalThis.fetch): Embedder {
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
    const { data } = await client.embeddings.create({ model, input, encoding_format: 'float' });
    if (data.length !== input.length) throw new TypeError(`${data.length} vectors for ${input.length} texts`);
    return data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => unit(embedding));
  } catch (error) {
    throw new Error(`The embedding endpoint does not serve: ${(modelFailureOf(error) as Error).message}`);
  }
}

function unit(vector: number[]): number[] {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
