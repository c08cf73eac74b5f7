import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelReply } from '../../src/runtimes/runtime.ts';
import { type Answer, type ModelServer, startModelServer } from '../support/peers/model-server.ts';
import { reply } from './support.ts';

let server: ModelServer;
beforeAll(async () => {
  server = await startModelServer();
});
afterAll(() => server.stop());

const tool = (name: string) => ({ name, description: name, parameters: { type: 'object' }, effect: 'read' as const });
const TOOLS = ['look', 'tags', 'ping'].map(tool);

/** A body as an endpoint sends it, with its label. */
interface Body {
  status?: number;
  type?: string | null;
  headers?: Record<string, string>;
  body: string | Uint8Array;
}

const stored = (name: string): Body => ({ body: readFileSync(new URL(`dialects/${name}.sse`, import.meta.url)) });

const answer =
  ({ status = 200, type = 'text/event-stream', headers = {}, body }: Body): Answer =>
  (response) =>
    void response.writeHead(status, { ...headers, ...(type === null ? {} : { 'content-type': type }) }).end(body);

function ask(body: Body, api: 'chat' | 'messages' = 'chat') {
  server.script(answer(body));
  return api === 'chat'
    ? reply({ base_url: server.url }, { tools: TOOLS })
    : reply(
        { provider_type: 'anthropic_messages', base_url: server.url.replace('/v1', ''), api_key_token_name: 'key' },
        { tools: TOOLS },
      );
}

describe('calls are assembled', () => {
  const OSLO = { name: 'look', arguments: '{"city":"Oslo"}' };
  const ROME = { name: 'look', arguments: '{"city":"Rome"}' };
  it.each<[string, ModelReply['calls'][number][] | object[]]>([
    ['noindex_same_chunk', [OSLO, ROME]],
    ['noindex_noid_same_chunk', [OSLO, ROME]],
    ['noindex_noid_two', [OSLO, ROME]],
    ['index1_start', [OSLO]],
    ['index7_then_none', [OSLO]],
    ['index0_empty_ids', [OSLO, ROME]],
    ['index0_null_ids', [OSLO, ROME]],
    ['id_changes_once', [OSLO]],
    ['name_each_chunk', [OSLO]],
    ['name_in_pieces', [OSLO]],
    ['args_emptystr_then_string', [OSLO]],
    ['args_empty_then_string', [OSLO]],
    ['m_tool_braces', [OSLO]],
  ])('%s', async (name, expected) => {
    const { calls } = await ask(stored(name), name.startsWith('m_') ? 'messages' : 'chat');
    expect(calls.map(({ id: _, ...call }) => call)).toEqual(expected);
  });
});
