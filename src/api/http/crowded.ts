import type { FastifyInstance } from 'fastify';
import { AppError } from '../../domain/errors.ts';

const RETRY_AFTER_S = 2;

/** Refuses a request immediately, before any work, if it would only wait for a database connection until it times out. */
export function refuseIfCrowded(http: FastifyInstance, crowded: () => boolean): void {
  http.addHook('onRequest', async () => {
    if (!crowded()) return;
    const message = 'Too many requests wait for the database; nothing was started, try again shortly';
    throw new AppError('unavailable', message, { code: 'too_many_waiting', retry_after_s: RETRY_AFTER_S });
  });
}
