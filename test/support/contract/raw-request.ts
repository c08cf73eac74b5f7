import { request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface RawReply {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

interface RawRequest {
  method?: string;
  /** All headers, including `host` and `origin`, which fetch does not allow. */
  headers?: Record<string, string>;
  body?: string;
}

/** Sends a request like a deceived browser. Status 0: the reply was not HTTP. */
export function rawRequest(url: string, { method = 'GET', headers = {}, body }: RawRequest = {}): Promise<RawReply> {
  return new Promise((resolve) => {
    const asked = request(url, { method, headers, agent: false, timeout: 5_000 });
    const nothing = () => resolve({ status: 0, headers: {}, body: '' });
    asked.on('timeout', () => asked.destroy()).on('error', nothing);
    asked.on('response', async (answer) => {
      resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer).catch(() => '') });
    });
    asked.end(body);
  });
}
