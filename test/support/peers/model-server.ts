import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

export interface ModelRequest {
  model: string;
  messages: {
    role: string;
    content: string | null;
    tool_calls?: { id: string; function: { name: string; arguments: string } }[];
    tool_call_id?: string;
  }[];
  tools?: { function: { name: string; description: string; parameters: object } }[];
  [field: string]: unknown;
}

/** One answer of the scripted model. */
export type Answer = (response: ServerResponse, request: ModelRequest) => Promise<void> | void;

export interface ModelServer {
  url: string;
  /** The requests so far, oldest first, each with its authorization and trace. */
  requests: (ModelRequest & { authorization: string | undefined; traceparent: string | undefined })[];
  /** The headers of each request. */
  headers: IncomingMessage['headers'][];
  /** The number of connections that the client dropped before the answer was complete. */
  aborted(): number;
  /** Sets the answers to the next requests. A request beyond the script is refused and recorded. */
  script(...answers: Answer[]): void;
  /** Sets the answers to the next requests that have this prompt. No other run takes them, even if one still works in the background. */
  scriptPrompt(prompt: string, ...answers: Answer[]): void;
  /** Answers every request beyond the script. */
  always(answer: Answer): void;
  /** Adds fields to the model that it lists. */
  describe(fields: object): void;
  stop(): Promise<void>;
}

const HEAD = { 'content-type': 'text/event-stream' };
const USAGE = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

const frame = (body: object) => `data: ${JSON.stringify(body)}\n\n`;
const chunk = (delta: object, finish_reason: string | null = null) =>
  frame({
    id: 'c',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'scripted',
    choices: [{ index: 0, delta, finish_reason }],
  });
const usageFrame = (usage: object) =>
  frame({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [], usage });
const tail = (usage: object) => `${usageFrame(usage)}data: [DONE]\n\n`;

interface Saying {
  pause_ms?: number;
  until?: Promise<unknown>;
  usage?: object;
  finish?: string;
}

/** Sends a text, one word a chunk, with `pause_ms` between them; all but the first wait for `until`. */
export const says =
  (text: string, { pause_ms = 0, until, usage = USAGE, finish = 'stop' }: Saying = {}): Answer =>
  async (response) => {
    response.writeHead(200, HEAD);
    for (const word of text.match(/\S+\s*|\s+/g) ?? []) {
      response.write(chunk({ content: word }));
      if (pause_ms) await wait(pause_ms);
      await until;
    }
    response.end(chunk({}, finish) + tail(usage));
  };

export interface Asked {
  name: string;
  /** The arguments as an object, or as raw text. */
  args?: object | string;
  id?: string;
  /** The text before the call. */
  text?: string;
}

/** Sends tool calls, each cut into pieces as real endpoints do. */
export const asks =
  (...calls: Asked[]): Answer =>
  (response) => {
    response.writeHead(200, HEAD);
    calls.forEach(({ name, args = {}, id = `call_${name}`, text: said }, index) => {
      if (said) response.write(chunk({ content: said }));
      const text = typeof args === 'string' ? args : JSON.stringify(args);
      response.write(chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }));
      for (const piece of text.match(/[\s\S]{1,7}/g) ?? [])
        response.write(chunk({ tool_calls: [{ index, function: { arguments: piece } }] }));
    });
    response.end(chunk({}, 'tool_calls') + tail(USAGE));
  };

export const fails =
  (
    status: number,
    { message = 'scripted failure', headers = {} }: { message?: string; headers?: Record<string, string> } = {},
  ): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message, type: 'scripted', code: null } }));
  };

/** Sends a text unchanged, then ends or cuts the connection. */
export const sends =
  (text: string, { cut = false }: { cut?: boolean } = {}): Answer =>
  async (response) => {
    response.writeHead(200, HEAD);
    response.write(text);
    await wait(20);
    if (cut) response.destroy();
    else response.end();
  };

/** Sends half of a text, then breaks the connection. */
export const breaksOff = (text: string): Answer => sends(chunk({ content: text }), { cut: true });

/** Sends some text, then nothing for as long as the client waits. */
export const hangs =
  (text = '', { usage }: { usage?: object } = {}): Answer =>
  async (response) => {
    response.writeHead(200, HEAD);
    if (usage) response.write(usageFrame(usage));
    response.write(text ? chunk({ content: text }) : ': waiting\n\n');
    await once(response, 'close');
  };

export async function startModelServer(): Promise<ModelServer> {
  const requests: ModelServer['requests'] = [];
  const headers: ModelServer['headers'] = [];
  const answers: Answer[] = [];
  const answersByPrompt = new Map<string, Answer[]>();
  let rest: Answer = fails(500, { message: 'the script has run out' });
  let aborted = 0;
  let described = {};

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.endsWith('/models')) {
      response.writeHead(200, { 'content-type': 'application/json' });
      const model = { id: 'scripted', object: 'model', created: 1, owned_by: 'test', ...described };
      response.end(JSON.stringify({ object: 'list', data: [model] }));
      return;
    }
    const body = (await json(request)) as ModelRequest;
    requests.push({
      ...body,
      authorization: request.headers.authorization,
      traceparent: request.headers.traceparent as string | undefined,
    });
    headers.push(request.headers);
    response.once('close', () => {
      if (!response.writableFinished) aborted += 1;
    });
    await (takeOwn(body) ?? answers.shift() ?? rest)(response, body);
  }

  function takeOwn({ messages = [] }: ModelRequest): Answer | undefined {
    for (const { role, content } of messages) {
      const own = role === 'user' && typeof content === 'string' && answersByPrompt.get(content)?.shift();
      if (own) return own;
    }
    return undefined;
  }

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    headers,
    aborted: () => aborted,
    script: (...more) => void answers.push(...more),
    scriptPrompt: (prompt, ...more) => void answersByPrompt.set(prompt, [...(answersByPrompt.get(prompt) ?? []), ...more]),
    always(answer) {
      rest = answer;
    },
    describe(fields) {
      described = fields;
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
