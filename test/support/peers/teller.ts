import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { messageAnswer } from './compatible-vendor.ts';

type Json = Record<string, any>;

/** The ways in which a model endpoint can answer; all of them quote the secret of the request. */
export const WAYS = ['echo', 'error', 'fail', 'redirect', 'cut', 'garbage'] as const;

const HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-secret'];
const secretOf = ({ headers }: IncomingMessage) =>
  HEADERS.flatMap((name) => headers[name] ?? [])
    .join(' ')
    .replace(/^(?:Bearer|Basic) /, '');

/** Returns a secret in the forms in which targets repeat it. */
export function quote(secret: string): string {
  const bytes = Buffer.from(secret);
  const pair = Buffer.from(`user:${secret}`);
  const html = secret
    .replaceAll('&', '&amp;')
    .replaceAll('"', '&quot;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll("'", '&#39;');
  const forms = [secret, bytes.toString('base64'), pair.toString('base64url'), bytes.toString('hex'), encodeURIComponent(secret)];
  return ['you sent', ...forms, html, JSON.stringify({ a: secret }), JSON.stringify(JSON.stringify(secret)), 'to me'].join(' ');
}

const chunk = (delta: Json, finish_reason: string | null = null) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'teller', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;

/**
 * Returns the model's reply in each round: first it calls all tools, then those for files and processes, then it repeats
 * everything it has received.
 */
function replyOf(body: Json, secret: string): { calls: Json[]; text: string } {
  const rounds = body.messages.filter((it: Json) => it.role === 'assistant').length;
  const names: string[] = (body.tools ?? []).map((it: Json) => it.function?.name ?? it.name);
  const builtin: Record<string, Json> = {
    bash: { command: 'cat leaked.txt; env; ls -R .; cat .git/config' },
    read: { file_path: 'leaked.txt' },
    grep: { pattern: '.', path: '.' },
    store_memory: { key: 'heard', value: quote(secret) },
  };
  const others = names.filter((name) => !(name in builtin));
  const callsOf = (some: string[]) =>
    some.map((name) => ({ name, arguments: JSON.stringify(builtin[name] ?? { note: quote(secret) }) }));
  if (rounds === 0 && others.length > 0) return { calls: callsOf(others), text: `First ${quote(secret)}` };
  if (rounds <= 1 && names.length > others.length) return { calls: callsOf(names.filter((name) => name in builtin)), text: '' };
  const results = body.messages.flatMap((it: Json) => (Array.isArray(it.content) ? it.content : it.role === 'tool' ? it : []));
  const heard = results.flatMap((it: Json) => (it.type === undefined || it.type === 'tool_result' ? it.content : []));
  return { calls: [], text: [quote(secret), ...heard].join('\n') };
}

/** Sends the same reply over Anthropic's Messages API. */
function speakMessages(response: ServerResponse, { calls, text: said }: ReturnType<typeof replyOf>): void {
  const blocks = [
    { type: 'text', text: said },
    ...calls.map((call, index) => ({
      type: 'tool_use',
      id: `call_${index}`,
      name: call.name,
      input: JSON.parse(call.arguments),
    })),
  ];
  const { events } = messageAnswer(blocks, { stop: calls.length > 0 ? 'tool_use' : 'end_turn' });
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events as Json[]) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

async function speak(response: ServerResponse, { calls, text: said }: ReturnType<typeof replyOf>): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of said.match(/[\s\S]{1,7}/g) ?? []) response.write(chunk({ content: piece }));
  calls.forEach((call, index) => {
    response.write(chunk({ tool_calls: [{ index, id: `call_${index}`, type: 'function', function: call }] }));
  });
  response.write(chunk({}, calls.length > 0 ? 'tool_calls' : 'stop'));
  response.end(
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'teller', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\ndata: [DONE]\n\n`,
  );
}

const sendJson = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  void response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));

async function answerAsModel(way: string, { body, secret, response }: { body: Json; secret: string; response: ServerResponse }) {
  // Only the Messages API requires the limit, so it identifies that API.
  if (way === 'echo' && body.max_tokens) return speakMessages(response, replyOf(body, secret));
  if (way === 'echo') return speak(response, replyOf(body, secret));
  if (way === 'error') return sendJson(response, 401, { error: { message: `Incorrect key: ${quote(secret)}` } });
  if (way === 'fail') return sendJson(response, 503, { error: { message: quote(secret) } }, { 'retry-after-ms': '20' });
  if (way === 'redirect')
    return void response.writeHead(302, { location: `/moved/${encodeURIComponent(secret)}` }).end(quote(secret));
  if (way === 'garbage') return void response.writeHead(200, { 'content-type': 'application/json' }).end(quote(secret));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(chunk({ content: `Your key is ${secret.slice(0, -5)}` }));
  await wait(100);
  response.destroy();
}

const MCP_TOOLS = ['says', 'fails', 'refuses', 'breaks', 'moves', 'cuts'];

/** Answers an MCP message with the secret in every text that a server can send. */
export function mcpAnswer({ id, method, params = {} }: Json, secret: string, names = MCP_TOOLS): Json | null {
  if (id === undefined) return null;
  const result = (value: Json) => ({ jsonrpc: '2.0', id, result: value });
  const tool = (name: string) => ({
    ...{ name, description: `Tool ${quote(secret)}`, annotations: { readOnlyHint: names !== MCP_TOOLS } },
    inputSchema: { type: 'object', properties: { note: { type: 'string', description: quote(secret) } } },
  });
  if (method === 'initialize') {
    const { protocolVersion } = params as Json;
    return result({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: quote(secret), version: '1' },
      instructions: quote(secret),
    });
  }
  if (method === 'tools/list') return result({ tools: [...names.map(tool), { name: secret }] });
  if (method !== 'tools/call') return result({});
  const content = [
    { type: 'text', text: quote(secret) },
    { type: 'resource_link', uri: `x://${encodeURIComponent(secret)}`, name: secret },
  ];
  if (params.name === 'refuses') return { jsonrpc: '2.0', id, error: { code: -32000, message: quote(secret), data: { secret } } };
  return result({ content, structuredContent: { [secret]: quote(secret) }, isError: params.name === 'fails' });
}

async function answerAsMcp(message: Json, { secret, response, way }: { secret: string; response: ServerResponse; way: string }) {
  const { name, _meta } = message.params ?? {};
  const answer = mcpAnswer(message, secret, way === 'unreachable' ? ['breaks'] : MCP_TOOLS);
  if (!answer) return void response.writeHead(202).end();
  // The calls of a round share a connection, so the calls that end it come last.
  if (['breaks', 'moves', 'cuts'].includes(name)) await wait(1_000);
  if (name === 'breaks') return void response.writeHead(500).end(quote(secret));
  if (name === 'moves') return void response.writeHead(307, { location: `/moved/${encodeURIComponent(secret)}` }).end();
  if (name !== 'cuts') return sendJson(response, 200, answer);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const progress = { progressToken: _meta?.progressToken, progress: 1, message: quote(secret) };
  response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params: progress })}\n\n`);
  setTimeout(() => response.destroy(), 100);
}

/** Starts one server that plays every target of a secret, and quotes what it received. */
export async function startTeller() {
  const met: string[] = [];
  const streams = new Map<string, ServerResponse>();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://x');
    const secret = secretOf(request);
    met.push(`${request.url} ${secret}`);
    const body = JSON.parse((await text(request)) || '{}');
    const [, place = '', way = ''] = url.pathname.split('/');
    if (place === 'moved') return void response.writeHead(410).end(`gone: ${decodeURIComponent(way)} ${quote(secret)}`);
    if (place === 'embeddings' && JSON.stringify(body).includes('FAIL'))
      return sendJson(response, 400, { error: { message: quote(secret) } });
    if (place === 'embeddings')
      return sendJson(response, 200, { data: body.input.map((_: string, index: number) => ({ index, embedding: [1, 0, 0] })) });
    if (place === 'mcp' && way === 'down') return void response.writeHead(401).end(quote(secret));
    if (place === 'mcp')
      return request.method === 'POST' ? answerAsMcp(body, { secret, response, way }) : void response.writeHead(405).end();
    if (place === 'sse') return answerAsSse({ request, response, body, secret });
    if (place === 'qdrant') return answerAsQdrant(way, { secret, response });
    if (place === 'hook')
      return void response.writeHead(500, { location: `/moved/${secret}` }).end(JSON.stringify(request.headers));
    if (url.pathname.endsWith('/models')) {
      if (way !== 'echo') return answerAsModel(way, { body: { messages: [] }, secret, response });
      return sendJson(response, 200, {
        data: [{ id: secret, object: 'model', created: 1, owned_by: quote(secret), name: quote(secret) }],
      });
    }
    const asked = (WAYS as readonly string[]).includes(body.model) ? body.model : way;
    await answerAsModel(asked, { body, secret, response });
  }

  async function answerAsSse({
    request,
    response,
    body,
    secret,
  }: {
    request: IncomingMessage;
    response: ServerResponse;
    body: Json;
    secret: string;
  }) {
    const { searchParams } = new URL(request.url ?? '/', 'http://x');
    if (request.method === 'GET') {
      const id = String(streams.size);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /sse/message?id=${id}\n\n`);
      return void streams.set(id, response);
    }
    if (body.params?.name === 'breaks') await wait(1_000);
    if (body.params?.name === 'breaks') return void response.writeHead(500).end(quote(secret));
    response.writeHead(202).end();
    const answer = mcpAnswer(body, secret);
    if (answer) streams.get(searchParams.get('id') ?? '')?.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
  }

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The paths that received secrets. */
    met,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function answerAsQdrant(way: string, { secret, response }: { secret: string; response: ServerResponse }) {
  if (way === 'error') return void response.writeHead(403).end(quote(secret));
  if (way === 'garbage') return void response.writeHead(200).end(`${secret} is not JSON`);
  if (way === 'redirect') return void response.writeHead(307, { location: `/moved/${encodeURIComponent(secret)}` }).end();
  const payload = { text: `The handbook says ${quote(secret)}`, name: secret };
  return sendJson(response, 200, { result: { points: [{ score: 1, payload }] } });
}

/**
 * Starts a server that implements enough of the Postgres protocol to receive a password and refuse it with an error that quotes
 * it.
 */
export async function startRefusingPostgres() {
  const message = (type: string, body: Buffer) => {
    const head = Buffer.alloc(5);
    head.write(type);
    head.writeInt32BE(body.length + 4, 1);
    return Buffer.concat([head, body]);
  };
  const server = createTcpServer((socket) => {
    let started = false;
    socket.on('error', () => {});
    socket.on('data', (data: Buffer) => {
      if (data.length === 8 && data.readInt32BE(4) === 80877103) return void socket.write('N');
      if (!started) {
        started = true;
        return void socket.write(message('R', Buffer.from([0, 0, 0, 3])));
      }
      const password = data.subarray(5, -1).toString();
      const fields = ['SFATAL', 'C28P01', `M${quote(password)}`].map((field) => `${field}\0`).join('');
      socket.end(message('E', Buffer.from(`${fields}\0`)));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.close();
      await once(server, 'close');
    },
  };
}
