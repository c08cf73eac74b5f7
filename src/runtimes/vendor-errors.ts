import { truncate } from '../domain/outside.ts';
import type { Fetch } from './reusing-fetch.ts';

type Json = Record<string, unknown>;

/** A fetch whose refusals have the one shape that the client reads, `{error: {message}}`. From any other, the message would be lost. */
export function readableErrors(fetch: Fetch): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    const { status, headers } = response;
    const type = headers.get('content-type') ?? '';
    if (status < 400 || !/json|html/.test(type)) return response;
    const text = await response.text();
    const error = type.includes('html') ? { message: 'a web page, not the answer of an API' } : vendorError(text);
    const new_headers = new Headers(headers);
    for (const name of ['content-encoding', 'content-length']) new_headers.delete(name);
    new_headers.set('content-type', 'application/json');
    return new Response(JSON.stringify({ error }), { status, headers: new_headers });
  };
}

function vendorError(text: string): Json {
  try {
    return findError(JSON.parse(text)) ?? { message: truncate(text) };
  } catch {
    return { message: truncate(text) };
  }
}

/**
 * Finds the error in a body. Gemini sends a list of one, Mistral the error itself, servers made with FastAPI a `detail`, Amazon a
 * `Message`.
 */
function findError(body: unknown): Json | null {
  const inner = Array.isArray(body) ? body[0] : body;
  if (typeof inner !== 'object' || inner === null) return null;
  const { error = inner } = inner as Json;
  if (typeof error === 'string') return { message: error };
  if (typeof error !== 'object' || error === null) return null;
  const message = findMessage(error as Json);
  return message ? { ...error, message } : null;
}

function findMessage(error: Json): string | null {
  const detail = error.message ?? error.Message ?? error.detail;
  const text = findErrorText(detail);
  const behind = ((error.metadata ?? {}) as Json).raw;
  return text && typeof behind === 'string' && behind ? `${text}: ${truncate(behind)}` : text;
}

/** Returns a sentence, or the sentences of a validator, each with its field. */
function findErrorText(detail: unknown): string | null {
  if (typeof detail === 'string') return detail;
  if (Array.isArray(detail)) return detail.map(formatFault).join('; ') || null;
  return typeof detail === 'object' && detail !== null ? findErrorText((detail as Json).detail) : null;
}

function formatFault(fault: unknown): string {
  const { msg, loc } = (fault ?? {}) as { msg?: unknown; loc?: unknown };
  if (typeof msg !== 'string') return JSON.stringify(fault);
  return Array.isArray(loc) ? `${loc.join('.')}: ${msg}` : msg;
}
