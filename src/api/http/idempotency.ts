import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { AppError, conflict, keyBusy } from '../../domain/errors.ts';
import type { IdempotencyStore } from '../../store/database/idempotency.ts';

/**
 * Runs a request once per Idempotency-Key; a repeated request gets the first reply. `work` must create its record under the
 * reserved id and look for that id first: if a server dies, `work` is called again with the same id and the next claim. The
 * first server may only have stood still, so what begins a run must be written only while its claim is the last one.
 */
export type Idempotency = (
  request: FastifyRequest,
  work: (reserved_id?: string, claim?: number) => Promise<unknown>,
) => Promise<{ value: unknown; replayed: boolean }>;

const LONGEST_KEY = 255;

export function createIdempotency(store: IdempotencyStore): Idempotency {
  return async (request, work) => {
    const key = request.headers['idempotency-key'] as string | undefined;
    if (!key) return { value: await work(), replayed: false };
    if (key.length > LONGEST_KEY) throw new AppError('invalid', `The Idempotency-Key is longer than ${LONGEST_KEY} characters`);
    const place = { principal: request.caller.key, key };
    const claim = await store.claim(place, hashRequest(request));
    if (claim.kind === 'replay') return { value: claim.reply, replayed: true };
    if (claim.kind === 'mismatch')
      throw conflict('This Idempotency-Key was used for another request; use a new one', 'idempotency_key_reused');
    if (claim.kind === 'busy') throw keyBusy();
    try {
      const value = await work(claim.reserved_id, claim.claim);
      const entry = await store.keep(place, value);
      return entry.kind === 'answered' ? { value: entry.reply, replayed: true } : { value, replayed: false };
    } catch (error) {
      await store.failed(place, error, claim);
      throw error;
    }
  };
}

const hashRequest = ({ method, url, body }: FastifyRequest) =>
  createHash('sha256')
    .update(JSON.stringify([method, url, body]))
    .digest('hex');
