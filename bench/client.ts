import { EventSourceParserStream } from 'eventsource-parser/stream';
import { isTerminal } from '../src/domain/statuses.ts';
import type { Installation } from '../src/main/dev.ts';

type Json = Record<string, unknown>;

/**
 * Sends a prompt and follows its stream to the end, as any client would: two requests a run. Throws if its tool fails or the
 * run is not completed.
 */
export type Run = (workflow_id: string, prompt: string, watch?: Watch) => Promise<void>;

interface Watch {
  /** Called with the first piece of text. */
  on_first?: (() => void) | undefined;
  on_text?: (text: string) => void;
  /** The conversation that the run continues. */
  thread_id?: string;
}

export interface Client {
  create(path: string, values: Json): Promise<string>;
  run: Run;
}

export function client({ api_url }: Pick<Installation, 'api_url'>, token: string): Client {
  const authorization = `Bearer ${token}`;
  async function post(path: string, values: Json): Promise<Json> {
    const headers = { authorization, 'content-type': 'application/json' };
    const reply = await fetch(`${api_url}${path}`, { method: 'POST', headers, body: JSON.stringify(values) });
    const answer = (await reply.json()) as Json;
    if (!reply.ok) throw new Error(`POST ${path} was answered with ${reply.status}: ${answer.detail}`);
    return answer;
  }
  return {
    create: async (path, values) => String((await post(path, values)).id),
    async run(workflow_id, prompt, { thread_id, ...watch } = {}) {
      const order = thread_id ? { prompt, thread_id } : { prompt };
      const { stream_url } = await post(`/api/workflows/${workflow_id}/prompt`, order);
      const stream = await fetch(`${api_url}${stream_url}`, { headers: { authorization } });
      if (!stream.ok || !stream.body) throw new Error(`The stream was answered with ${stream.status}`);
      await followed(stream.body, watch);
    },
  };
}

async function followed(body: NonNullable<Response['body']>, { on_first, on_text }: Watch): Promise<void> {
  let first = true;
  let status: unknown;
  for await (const frame of body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())) {
    const { type, data } = JSON.parse(frame.data) as { type: string; data: Json };
    if (type === 'message_delta') {
      if (first) on_first?.();
      first = false;
      on_text?.(String(data.delta));
    }
    if (type === 'status') status = data.status;
    // A tool that cannot run would look fast.
    if (data.event === 'tool_result' && data.failed) throw new Error('The tool of the run failed');
  }
  if (status !== 'completed') throw new Error(`The run ended as ${isTerminal(status) ? status : 'nothing'}`);
}
