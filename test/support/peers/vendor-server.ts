import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

type Json = Record<string, any>;
/** The agent's reaction to an input: events without ids and times. */
export type Turn = Json[];

interface Refusal {
  status: number;
  headers?: Record<string, string>;
  path?: RegExp;
  message?: string;
}

interface Session extends Json {
  id: string;
  events: Json[];
  watchers: Set<ServerResponse>;
}

export const agentSays = (text: string): Turn => [
  { type: 'event_start', event: { id: 'next', type: 'agent.message' } },
  ...[...text.matchAll(/\S+\s*/g)].map(([piece]) => ({
    ...{ type: 'event_delta', event_id: 'next' },
    delta: { type: 'content_delta', index: 0, content: { type: 'text', text: piece } },
  })),
  { type: 'agent.message', content: [{ type: 'text', text }] },
];
export const agentAsks = (...calls: { name: string; input?: Json }[]): Turn => [
  ...calls.map(({ name, input = {} }) => ({ type: 'agent.custom_tool_use', name, input })),
];
export const spends = (input_tokens: number, output_tokens: number): Json => ({
  ...{ type: 'span.model_request_end', is_error: false, model_request_start_id: 's' },
  model_usage: { input_tokens, output_tokens, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 },
});
const idle = (stop_reason: Json): Json => ({ type: 'session.status_idle', stop_reason, stop_details: null });
/** The last event of a turn that does not become idle by itself. */
export const works: Json = { type: 'span.model_request_start', id: 'works' };
export const ends = idle({ type: 'end_turn' });

/**
 * Starts a stand-in for the vendor's managed agents API, based on the SDK's types: agents, environments, sessions, and the
 * events of a session, listed and streamed. A session follows the script: one turn each time everything that it asked for is
 * answered.
 */
export async function startVendorServer() {
  const agents: Json[] = [];
  const environments: Json[] = [];
  const sessions: Session[] = [];
  const turns: Turn[] = [];
  const refusals: Refusal[] = [];
  let made = 0;

  function publish(session: Session, event: Json): Json {
    const preview = event.type === 'event_start' || event.type === 'event_delta';
    const full = preview
      ? JSON.parse(JSON.stringify(event).replaceAll('"next"', `"e${made + 1}"`))
      : { id: `e${++made}`, processed_at: new Date(1_760_000_000_000 + made).toISOString(), ...event };
    if (!preview) session.events.push(full);
    const status = /^session\.status_(\w+)$/.exec(full.type)?.[1];
    if (status) session.status = status;
    for (const watcher of session.watchers) watcher.write(`event: ${full.type}\ndata: ${JSON.stringify(full)}\n\n`);
    return full;
  }

  function act(session: Session): void {
    const open = openCalls(session);
    if (open.length > 0) return void publish(session, idle({ type: 'requires_action', event_ids: open }));
    const turn = turns.shift() ?? [...agentSays('The script has run out.')];
    publish(session, { type: 'session.status_running' });
    for (const event of turn) publish(session, event);
    const asked = openCalls(session);
    const rested = turn.some(({ type }) => type === 'session.status_idle' || type === 'session.error');
    if (!rested && !turn.includes(works))
      publish(session, asked.length > 0 ? idle({ type: 'requires_action', event_ids: asked }) : ends);
  }

  const chats: Json[] = [];
  const routes: [
    string,
    RegExp,
    (place: { id: string; query: URLSearchParams; body: Json; response: ServerResponse }) => unknown,
  ][] = [
    [
      'GET',
      /^\/v1\/models$/,
      () => ({
        data: [{ type: 'model', id: 'claude-test', display_name: 'Claude Test', created_at: AT, max_input_tokens: 200_000 }],
        ...{ has_more: false, first_id: 'claude-test', last_id: 'claude-test' },
      }),
    ],
    ['POST', /^\/v1\/messages$/, ({ body, response }) => tellMessage(response, kept(chats, body).model)],
    ['GET', /^\/v1\/agents$/, () => page(agents)],
    [
      'POST',
      /^\/v1\/agents$/,
      ({ body }) => kept(agents, { id: `agent_${agents.length + 1}`, type: 'agent', version: 1, ...body }),
    ],
    ['GET', /^\/v1\/environments$/, () => page(environments)],
    [
      'POST',
      /^\/v1\/environments$/,
      ({ body }) => kept(environments, { id: `env_${environments.length + 1}`, type: 'environment', ...body }),
    ],
    ['GET', /^\/v1\/sessions$/, ({ query }) => page(sessions.filter((session) => fits(session, query)).map(shown))],
    [
      'POST',
      /^\/v1\/sessions$/,
      ({ body }) => {
        const session = {
          id: `session_${sessions.length + 1}`,
          type: 'session',
          status: 'idle',
          created_at: new Date(Date.now() - LATE_MS).toISOString(),
          archived_at: null,
          metadata: {},
          ...body,
        };
        return shown(kept(sessions, { ...session, events: [], watchers: new Set<ServerResponse>() } as unknown as Session));
      },
    ],
    ['GET', /^\/v1\/sessions\/(\w+)$/, ({ id }) => shown(one(id))],
    [
      'POST',
      /^\/v1\/sessions\/(\w+)\/archive$/,
      ({ id }) => shown(Object.assign(one(id), { archived_at: new Date().toISOString() })),
    ],
    ['GET', /^\/v1\/sessions\/(\w+)\/events$/, ({ id }) => page(one(id).events)],
    [
      'POST',
      /^\/v1\/sessions\/(\w+)\/events$/,
      ({ id, body }) => {
        const data = body.events.map((event: Json) => publish(one(id), event));
        if (!body.events.some(({ type }: Json) => type === 'user.interrupt')) setImmediate(() => act(one(id)));
        return { data };
      },
    ],
    [
      'GET',
      /^\/v1\/sessions\/(\w+)\/events\/stream$/,
      ({ id, response }) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(': open\n\n');
        one(id).watchers.add(response);
        response.once('close', () => one(id)?.watchers.delete(response));
        return undefined;
      },
    ],
  ];
  const one = (id: string) => sessions.find((session) => session.id === id) as Session;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? '/', 'http://x');
    const body = JSON.parse((await text(request)) || '{}') as Json;
    const refused = refusals.findIndex(({ path = /./ }) => path.test(pathname));
    const [refusal] = refused < 0 ? [] : refusals.splice(refused, 1);
    if (refusal) {
      response.writeHead(refusal.status, { 'content-type': 'application/json', ...refusal.headers });
      return void response.end(
        JSON.stringify({ type: 'error', error: { type: 'scripted', message: refusal.message ?? 'scripted refusal' } }),
      );
    }
    const found = routes.find(([method, path]) => method === request.method && path.test(pathname));
    const id = found?.[1].exec(pathname)?.[1] ?? '';
    const known = id === '' || one(id) !== undefined;
    const answer = known ? found?.[2]({ id, query, body, response }) : undefined;
    if (answer === undefined && found && known) return;
    response.writeHead(found && known ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer ?? { type: 'error', error: { type: 'not_found_error', message: pathname } }));
  }

  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ agents, environments, sessions, chats },
    script: (...more: Turn[]) => void turns.push(...more),
    /** Refuses the next requests, or with `path` the next ones to that path. */
    refuse: (...more: Refusal[]) => void refusals.push(...more),
    /** Cuts every open stream. */
    cut() {
      for (const { watchers } of sessions) for (const watcher of watchers) watcher.destroy();
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
export type VendorServer = Awaited<ReturnType<typeof startVendorServer>>;

const page = (data: Json[]) => ({ data, next_page: null, prev_page: null });
const shown = ({ events: _, watchers: __, ...session }: Json): Json => session;

const AT = '2026-01-01T00:00:00Z';
/** How far the vendor's clock is behind: nearly as far as the service allows for. */
const LATE_MS = 299_000;

/** True if a list with these conditions has the session. */
const fits = ({ agent, archived_at, created_at }: Json, query: URLSearchParams): boolean =>
  (query.get('agent_id') ?? agent) === agent &&
  (query.get('include_archived') === 'true' || archived_at === null) &&
  Date.parse(created_at) >= Date.parse(query.get('created_at[gte]') ?? AT);

/** Sends the same answer to every chat, streamed in the vendor's format. */
function tellMessage(response: ServerResponse, model: string): undefined {
  const usage = { input_tokens: 7, output_tokens: 1, cache_read_input_tokens: 2, cache_creation_input_tokens: 0 };
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const events: Json[] = [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '', citations: null } },
    ...['Hello ', 'from a chat.'].map((text) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 4 } },
    { type: 'message_stop' },
  ];
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
}

function kept<T>(list: T[], item: T): T {
  list.push(item);
  return item;
}

function openCalls({ events }: Session): string[] {
  const answered = new Set(events.filter(({ type }) => type === 'user.custom_tool_result').map((it) => it.custom_tool_use_id));
  return events.filter(({ type, id }) => type === 'agent.custom_tool_use' && !answered.has(id)).map(({ id }) => id);
}
