import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';

interface Asking {
  token: string;
  method?: string;
  body?: object;
  headers?: Record<string, string>;
}

/** A client that sends a request over a separate connection and reads nothing of the reply until `read` is called. */
export interface UnreadReply {
  status: number;
  /** Reads the whole reply; waits for `pause_ms` before each piece. */
  read(pause_ms?: number): Promise<string>;
  drop(): void;
}

export function unread(url: string, { token, method = 'GET', body, headers = {} }: Asking): Promise<UnreadReply> {
  return new Promise((resolve, reject) => {
    const json = body ? { 'content-type': 'application/json' } : {};
    const asked = request(url, { method, agent: false, headers: { authorization: `Bearer ${token}`, ...json, ...headers } });
    asked.once('error', reject).end(body && JSON.stringify(body));
    asked.once('response', (response) => {
      asked.on('error', () => {});
      response.on('error', () => {});
      const read = (pause_ms = 0) => (pause_ms ? readSlowly(response, pause_ms) : text(response));
      resolve({ status: response.statusCode!, read, drop: () => response.destroy() });
    });
  });
}

async function readSlowly(response: IncomingMessage, pause_ms: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of response) {
    pieces.push(piece);
    await wait(pause_ms);
  }
  return Buffer.concat(pieces).toString();
}
