import type { FastifyReply } from 'fastify';
import { type AppError, overLimit } from '../../domain/errors.ts';

/** The limit for each caller, and the limit for all callers together. */
export interface GateLimit {
  each: number;
  /** Absent: no limit. */
  total?: number;
}

/** Admits a request or refuses it with 429. Its slot is released when the reply ends, however it ends. */
export type Gate = (key: string, reply: FastifyReply) => void;

interface GateWords {
  /** The limited thing, such as `streams open`. */
  what: string;
  code: string;
  settings: { each: string; total?: string };
}

function createGate({ each, total = Number.POSITIVE_INFINITY }: GateLimit, { what, code, settings }: GateWords): Gate {
  const open_requests = new Map<string, number>();
  let all = 0;
  const refusal = (most: number, whose: string, setting: string | undefined): AppError =>
    overLimit(`${whose} ${most} ${what} already, as many as ${setting} allows; end one or try again shortly`, { code });
  return (key, reply) => {
    const mine = open_requests.get(key) ?? 0;
    if (mine >= each) throw refusal(each, 'You have', settings.each);
    if (all >= total) throw refusal(total, 'This service has', settings.total);
    open_requests.set(key, mine + 1);
    all += 1;
    reply.raw.once('close', () => {
      all -= 1;
      const remaining = open_requests.get(key)! - 1;
      if (remaining > 0) open_requests.set(key, remaining);
      else open_requests.delete(key);
    });
  };
}

export const streamGate = (limit: GateLimit): Gate =>
  createGate(limit, {
    what: 'streams open',
    code: 'streams_limit',
    settings: { each: 'STREAMS_PER_PRINCIPAL', total: 'STREAMS_OPEN' },
  });

export const uploadGate = (limit: GateLimit): Gate =>
  createGate(limit, {
    what: 'uploads in progress',
    code: 'uploads_limit',
    settings: { each: 'UPLOADS_PER_PRINCIPAL', total: 'UPLOADS_IN_PROGRESS' },
  });
