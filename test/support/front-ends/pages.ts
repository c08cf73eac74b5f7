import { HttpAgent } from '@ag-ui/client';
import { type ChatInit, DefaultChatTransport, type HttpChatTransportInitOptions, type UIMessage } from 'ai';
import type { TestInstallation } from '../installation.ts';
import { UiPage } from './ui-page.ts';

const toHeaders = (token: string) => ({ authorization: `Bearer ${token}` });

/** Opens pages that speak with a thread as the libraries of both protocols do. */
export function openPages(here: TestInstallation, thread_id: string, token = here.people.alice.token) {
  const url = `${here.url}/api/threads/${thread_id}`;
  const headers = toHeaders(token);
  const read = async (path: string) => {
    const answer = await fetch(`${url}${path}`, { headers });
    return { status: answer.status, body: answer.status === 204 ? null : await answer.json() };
  };
  return {
    url,
    headers,
    /** A page with `useChat`, which asks the paths that it asks by default. */
    ui: (init: ChatInit<UIMessage> = {}, transport: HttpChatTransportInitOptions<UIMessage> = {}) =>
      new UiPage({ ...init, transport: new DefaultChatTransport({ api: `${url}/ui`, headers, ...transport }) }),
    /** The messages with which a page begins that is loaded again. */
    history: async () => (await read('/ui/messages')).body as UIMessage[],
    agUi: () => new HttpAgent({ url: `${url}/ag-ui`, headers, threadId: thread_id }),
    /** The events that a client of AG-UI gets when it connects again. */
    connect: async () => {
      const answer = await fetch(`${url}/ag-ui`, { headers });
      const frames = (await answer.text()).split('\n\n').filter((frame) => frame.includes('data: '));
      return frames.map((frame) => JSON.parse(frame.slice(frame.indexOf('data: ') + 6)));
    },
  };
}

/** Breaks the first connection after some frames, as a network does, and no other. */
export function breakFirst(frames: number): typeof fetch {
  let connections = 0;
  return async (...asked) => {
    connections += 1;
    const answer = await fetch(...asked);
    return connections === 1 ? new Response(breakAfter(answer.body!, frames), answer) : answer;
  };
}

function breakAfter(body: ReadableStream<Uint8Array>, frames: number) {
  let count = 0;
  const splitter = new TransformStream<Uint8Array, Uint8Array>({
    transform(bytes, controller) {
      for (const frame of new TextDecoder().decode(bytes).split(/(?<=\n\n)/)) {
        count += 1;
        if (count > frames) return controller.error(new TypeError('network error'));
        controller.enqueue(new TextEncoder().encode(frame));
      }
    },
  });
  return body.pipeThrough(splitter);
}

export const textsOf = (message: UIMessage | undefined) =>
  message?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : [])) ?? [];
