import OpenAI, { type APIError } from 'openai';

/** Creates OpenAI's client for `/v1` of an installation at this address. It never retries. */
export const openaiAt = (url: string, apiKey: string): OpenAI => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });

/** Returns the error with which a request was refused, or null. */
export const refusal = (work: Promise<unknown>): Promise<APIError | null> =>
  work.then(
    () => null,
    (error: unknown) => error as APIError,
  );
