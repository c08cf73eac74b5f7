import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { v7 as uuid } from 'uuid';
import { type ProblemFacts, toOpenAIError, toProblemBody } from './problems.ts';
import { HEADERS } from './secure-headers.ts';

/** Returns the longest time that a request may take to arrive, and how often Node checks its connections for it. */
export const arrivalLimits = (request_seconds: number) => ({
  requestTimeout: request_seconds * 1_000,
  http: {
    // Node would refuse a request without Host in its own words.
    requireHostHeader: false,
    headersTimeout: request_seconds * 1_000,
    connectionsCheckingInterval: Math.min(1_000, request_seconds * 250),
  },
});

const REFUSALS: Record<string, ProblemFacts> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    code: 'request_too_slow',
    detail: 'The request did not arrive within the time that REQUEST_SECONDS allows; send it again, faster or in parts',
  },
  HPE_INVALID_EOF_STATE: {
    status: 400,
    code: 'incomplete_request',
    detail: 'The connection ended before the whole request had arrived; send it again, with the Content-Length of its body',
  },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    code: 'headers_too_large',
    detail: 'The headers are larger than this service accepts; send fewer or shorter headers',
  },
  CONNECT: {
    status: 405,
    code: 'method_not_allowed',
    detail: 'This service is not a proxy: it does not accept CONNECT',
  },
};

const MALFORMED = { status: 400, code: 'malformed_request', detail: 'This is not an HTTP request' };

/** Replies to a connection whose data never became a request, and closes it. */
export function refuseRaw(error: Error & { code?: string }, socket: Socket & { bytesWritten: number }): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return;
  if (socket.writable) {
    const facts = REFUSALS[error.code!] ?? MALFORMED;
    const { status } = facts;
    const problem = { ...toProblemBody(facts, uuid()), title: STATUS_CODES[status] };
    // The path is not known: the body is both problem details and, for clients of /v1, an error of OpenAI's format.
    const body = JSON.stringify({ ...problem, ...toOpenAIError(facts) });
    const fields = {
      ...HEADERS,
      ...(status === 405 ? { allow: 'GET, POST, PUT, PATCH, DELETE' } : {}),
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    };
    const head = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
  }
  socket.destroySoon();
}

/** How long the server keeps reading and discarding the rest of a request after its reply. */
const LINGER_MS = 30_000;

/**
 * Delays closing a connection whose request has not arrived completely until its client has stopped sending. If data is left
 * unread, the kernel resets the connection, and a client that is still sending loses the reply.
 */
export function lingerOnClose(server: Server): void {
  const latest = new WeakMap<Socket, IncomingMessage>();
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    if (!latest.has(socket)) lingering(socket, () => latest.get(socket));
    latest.set(socket, request);
    // Otherwise a body that a parser abandoned would stay unread on a kept-alive connection.
    response.once('finish', () => request.complete || request.resume());
  });
}

/** Replaces `destroySoon`, which Node calls after the last reply of a connection. */
function lingering(socket: Socket, request: () => IncomingMessage | undefined): void {
  const close = socket.destroySoon.bind(socket);
  socket.destroySoon = () => {
    const open_request = request();
    if (!open_request || open_request.complete || socket.writableEnded) return close();
    socket.end();
    open_request.resume();
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}

/**
 * Closes a connection if its client accepts none of a waiting reply for that many seconds. A timer at half the period detects
 * missing progress; data that only the kernel holds does not count.
 */
export function cutStalled(server: Server, stall_seconds: number): void {
  const half_ms = stall_seconds * 500;
  server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    let before: number | null = null;
    response.setTimeout(half_ms, () => {
      const bytes_sent = response.writableLength > 0 ? socket.bytesWritten - socket.writableLength : null;
      if (bytes_sent !== null && bytes_sent === before) return response.destroy();
      before = bytes_sent;
      response.setTimeout(half_ms);
    });
  });
}
