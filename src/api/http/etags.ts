import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Endpoint } from '../../contracts/endpoint.ts';
import { AppError } from '../../domain/errors.ts';
import { listServiceFieldWarnings, type Warnings } from './warnings.ts';

/** Serializes the record without the fields that depend on its reader. */
export const serializeRecord = (record: unknown) =>
  JSON.stringify(record, function (key, value) {
    return (key === 'needs' || key === 'sign_in') && this === record ? undefined : value;
  });

export const computeEtag = (body: string) => `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;

/**
 * Compares If-Match with the current record: throws 412 if the ETag differs, and warns about fields that only the service sets.
 */
export async function checkIfMatch(
  { body, reply }: Endpoint,
  { request, input }: { request: FastifyRequest; input: Warnings },
  current: (() => Promise<unknown>) | undefined,
): Promise<void> {
  const if_match = request.headers['if-match'];
  const suspects = listServiceFieldWarnings(request.body, { body, reply }, null);
  const needs_current = current && ((if_match && if_match !== '*') || suspects.length > 0);
  const now = needs_current ? await current() : undefined;
  if (if_match && if_match !== '*' && current) refuseStale(if_match, now);
  if (body && suspects.length > 0)
    input.warn(...listServiceFieldWarnings(request.body, { body, reply }, JSON.parse(JSON.stringify(now ?? null))));
}

function refuseStale(if_match: string, now: unknown): void {
  const tags = if_match.split(',').map((tag) => tag.trim());
  if (!tags.includes(computeEtag(serializeRecord(now))))
    throw new AppError('precondition', 'The record has changed since you read it; read it again and repeat your change', {
      code: 'changed_meanwhile',
    });
}
