import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { type HostRule, hostRule, originRule } from '../domain/hosts.ts';
import { createCompletion, type Delivery, streamCompletion } from './demo-completion.ts';
import { createReply } from './demo-reply.ts';
import { DemoRequest, EmbeddingRequest } from './demo-request.ts';
import type { Scenario } from './demo-scenario.ts';

interface DemoModelOptions {
  port?: number;
  host?: string;
  /** The wait between two words of a streamed answer. */
  token_delay_ms?: number;
}

export const DEMO_MODEL = 'perdura-demo';
const NAME = 'Perdura demo model (scripted, no intelligence)';

/** An error in the form that OpenAI's clients understand. */
class Refusal extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * Starts an OpenAI-compatible server that answers by rules instead of a model. With it, a fresh installation can run agents
 * with tools, without a key and without a network.
 */
export async function startDemoModel(options: DemoModelOptions = {}): Promise<{ url: string; stop(): Promise<void> }> {
  const { port = 0, host = '127.0.0.1', token_delay_ms = 15 } = options;
  const call_counts = new Map<string, number>();
  const isOwnHost = hostRule({ listening: host });
  const server = createServer((request, response) => {
    answer(request, response, { token_delay_ms, call_counts, isOwnHost }).catch((error: unknown) => refuse(response, error));
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/v1`,
    stop: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

interface Memory {
  token_delay_ms: number;
  /** How often each scenario key was seen, for scenarios whose first calls fail. */
  call_counts: Map<string, number>;
  /** The host names to which the server answers. */
  isOwnHost: HostRule;
}

async function answer(request: IncomingMessage, response: ServerResponse, memory: Memory): Promise<void> {
  const { host, origin } = request.headers;
  if (!memory.isOwnHost(host)) throw new Refusal(421, 'foreign_host', `The demo model does not answer to the name ${host}`);
  if (!originRule(memory.isOwnHost)(origin))
    throw new Refusal(403, 'foreign_origin', `Pages of ${origin} may not use the demo model`);
  const route = `${request.method} ${request.url?.split('?')[0]?.replace(/^\/v1/, '')}`;
  if (route === 'GET /models') return send(response, { object: 'list', data: [MODEL] });
  if (route === `GET /models/${DEMO_MODEL}`) return send(response, MODEL);
  if (route === 'POST /embeddings') return send(response, embeddings(await parseBody(request, EmbeddingRequest)));
  if (route === 'POST /chat/completions') return chat(await parseBody(request, DemoRequest), response, memory);
  throw new Refusal(404, 'not_found', `The demo model has no ${request.method} ${request.url}`);
}

const MODEL = { id: DEMO_MODEL, object: 'model', created: 1_735_689_600, owned_by: 'perdura', name: NAME };

async function chat(request: DemoRequest, response: ServerResponse, { token_delay_ms, call_counts }: Memory): Promise<void> {
  const reply = createReply(request);
  const { scenario } = reply;
  const first = scenario ? failOrCount(scenario, call_counts) : false;
  const delivery: Delivery = {
    ttft_ms: scenario?.ttft_ms ?? 0,
    itl_ms: scenario?.itl_ms ?? token_delay_ms,
    cut: first && scenario?.cut === 1,
  };
  if (request.stream) return streamCompletion({ request, reply, delivery }, response);
  return send(response, await createCompletion({ request, reply, delivery }));
}

/** True if this is the first call with the scenario's key; throws if the call is one of those that must fail. */
function failOrCount({ key, status, failn }: Scenario, call_counts: Map<string, number>): boolean {
  if (!key) return true;
  const count = (call_counts.get(key) ?? 0) + 1;
  call_counts.set(key, count);
  if (status && count <= failn) throw new Refusal(status, 'scripted', `The scenario asked for status ${status}`);
  return count === 1;
}

function embeddings({ model, input, encoding_format }: z.output<typeof EmbeddingRequest>) {
  const texts = typeof input === 'string' ? [input] : input;
  const tokens = texts.reduce((sum, text) => sum + Math.ceil(text.length / 4), 0);
  const data = texts.map((text, index) => {
    const vector = embed(text);
    return { object: 'embedding', index, embedding: encoding_format === 'base64' ? inBase64(vector) : vector };
  });
  return { object: 'list', model, data, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

async function parseBody<S extends z.ZodType>(request: IncomingMessage, schema: S): Promise<z.output<S>> {
  const body = await json(request).catch(() => {
    throw new Refusal(400, 'invalid_json', 'The body is not JSON');
  });
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Refusal(400, 'invalid_request', z.prettifyError(parsed.error));
}

function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const { status, code, message } = error instanceof Refusal ? error : new Refusal(500, 'internal', 'The demo model failed');
  const type = status < 500 ? 'invalid_request_error' : 'server_error';
  send(response, { error: { message, type, param: null, code } }, status);
}

function send(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const DIMENSIONS = 256;

/**
 * Returns a hashed bag of words: texts that share words are near each other, and meaning plays no part. The same text always
 * has the same vector.
 */
function embed(text: string): number[] {
  const vector = new Array<number>(DIMENSIONS).fill(0);
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const hash = createHash('sha256').update(word).digest();
    const place = hash.readUInt16LE(0) % DIMENSIONS;
    vector[place]! += hash[2]! & 1 ? 1 : -1;
  }
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}

/** Encodes a vector as OpenAI's own client requests it: 32-bit floats, little-endian, in base64. */
const inBase64 = (vector: readonly number[]): string => Buffer.from(Float32Array.from(vector).buffer).toString('base64');
