import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import type { Rules } from './vendor-rules.ts';

type Json = Record<string, any>;

/** A vendor's answer: pieces of a stream, and the data that the vendor expects back with the call of this id. */
export interface VendorAnswer {
  events: object[];
  issues?: { id: string; added: Json };
}

/** Builds chunks of chat completions. */
export const chatAnswer = (
  deltas: object[],
  { finish = 'stop', issues }: Partial<VendorAnswer> & { finish?: string } = {},
): VendorAnswer => ({
  events: [
    ...deltas.map((delta) => ({ id: 'c', model: 'answered', choices: [{ index: 0, delta, finish_reason: null }] })),
    {
      ...{ id: 'c', model: 'answered', choices: [{ index: 0, delta: {}, finish_reason: finish }] },
      usage: { prompt_tokens: 9, completion_tokens: 4 },
    },
  ],
  ...(issues ? { issues } : {}),
});

/** Builds events of Anthropic's Messages API: whole blocks, each cut into deltas. */
export function messageAnswer(
  blocks: Json[],
  { issues, stop = 'end_turn', usage: read = {} }: Partial<VendorAnswer> & { stop?: string; usage?: Json } = {},
): VendorAnswer {
  const usage = { input_tokens: 9, output_tokens: 1, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, ...read };
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'answered', content: [], stop_reason: null, usage };
  return {
    events: [
      { type: 'message_start', message },
      ...blocks.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: emptied(block) },
        ...deltasOf(block).map((delta) => ({ type: 'content_block_delta', index, delta })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 4 } },
      { type: 'message_stop' },
    ],
    ...(issues ? { issues } : {}),
  };
}

const emptied = (block: Json): Json => ({
  ...block,
  ...(block.type === 'text' ? { text: '' } : block.type === 'thinking' ? { thinking: '', signature: '' } : {}),
  ...(isUse(block) ? { input: {} } : {}),
  ...(block.citations ? { citations: [] } : {}),
});

const isUse = ({ type }: Json) => type === 'tool_use' || type === 'server_tool_use';

const halves = (text: string) => [text.slice(0, text.length / 2), text.slice(text.length / 2)];

function deltasOf(block: Json): Json[] {
  const { type, text, thinking, signature, input, citations = [] } = block;
  if (type === 'text')
    return [
      ...citations.map((citation: Json) => ({ type: 'citations_delta', citation })),
      ...halves(text).map((piece) => ({ type: 'text_delta', text: piece })),
    ];
  if (isUse(block)) return halves(JSON.stringify(input)).map((partial_json) => ({ type: 'input_json_delta', partial_json }));
  if (type !== 'thinking') return [];
  return [
    ...halves(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
    { type: 'signature_delta', signature },
  ];
}

export type CompatibleVendor = Awaited<ReturnType<typeof startCompatibleVendor>>;

/** Starts a server that answers by a script, and refuses what its vendor refuses. */
export async function startCompatibleVendor(rules: Rules, { models = ['answered'] as string[] | null } = {}) {
  const requests: Json[] = [];
  const headers: IncomingMessage['headers'][] = [];
  const issued = new Map<string, Json>();
  const script: VendorAnswer[] = [];
  let refused = 0;

  const send = (response: ServerResponse, status: number, body: unknown) =>
    void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    if (pathname.endsWith('/models') && models)
      return send(response, 200, { object: 'list', data: models.map((id) => ({ id })) });
    if (!/\/(chat\/completions|messages)$/.test(pathname))
      return send(response, 404, { message: `no Route matched ${pathname}` });
    const body = (await json(request)) as Json;
    requests.push(body);
    headers.push(request.headers);
    const refusal = rules(body, issued);
    if (refusal) {
      refused += 1;
      return send(response, refusal.status, refusal.body);
    }
    const { events, issues } = script.shift() ?? (pathname.endsWith('/messages') ? DONE_MESSAGE : DONE);
    if (issues) issued.set(issues.id, issues.added);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of events as Json[])
      response.write(`${event.type ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
    response.end(pathname.endsWith('/messages') ? '' : 'data: [DONE]\n\n');
  }

  const server = createServer((request, response) => void serve(request, response).catch(() => response.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    headers,
    refused: () => refused,
    script: (...answers: VendorAnswer[]) => void script.push(...answers),
    /** Creates a fetch that sends requests for the vendor's own address to this server. */
    at:
      (address: string): typeof fetch =>
      (input, init) =>
        fetch(String(input).replace(new URL(address).origin, url), init),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const DONE = chatAnswer([{ content: 'Done.' }]);
const DONE_MESSAGE = messageAnswer([{ type: 'text', text: 'Done.' }]);
