import { isDeepStrictEqual } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Warning } from '../../contracts/common.ts';
import { unprocessable } from '../../domain/errors.ts';
import { isRecord } from '../../domain/records.ts';
import { describeMissingToken } from '../checks/needs.ts';
import { isOtherName } from './spellings.ts';

/** Collects warnings about a request that succeeds. */
export interface Warnings {
  /**
   * Adds to the reply's `warnings`. With `Prefer: handling=strict` (RFC 7240) the request fails with 422 instead, so call this
   * before writing anything.
   */
  warn(...warnings: Warning[]): void;
  /** Adds to the reply's `warnings` facts that are not faults of the request; strict handling does not refuse them. */
  note(...warnings: Warning[]): void;
  /** True if a warning must fail the request; for callers that find warnings only while they write. */
  readonly strict: boolean;
  readonly warnings: readonly Warning[];
}

const STRICT = /(?:^|[,;\s])handling\s*=\s*"?strict"?(?=$|[,;\s])/i;

/**
 * Creates the warnings of a request. A client that sends back a record with its `warnings` and `needs` knows them, so strict
 * handling does not refuse them again.
 */
export function createWarnings(
  { method, headers, body }: Pick<FastifyRequest, 'method' | 'headers' | 'body'>,
  reply: FastifyReply,
): Warnings {
  const strict = method !== 'GET' && STRICT.test([headers.prefer ?? []].flat().join(', '));
  if (strict) reply.header('preference-applied', 'handling=strict');
  const warnings: Warning[] = [];
  const body_messages = strict ? listMessages(body) : new Set();
  return {
    strict,
    warnings,
    warn(...more) {
      warnings.push(...more);
      const new_warnings = more.filter(({ message }) => !body_messages.has(message));
      if (strict && new_warnings.length > 0) throw unprocessable(new_warnings, 'strict_handling');
    },
    note: (...more) => void warnings.push(...more),
  };
}

function listMessages(body: unknown): Set<unknown> {
  if (!isRecord(body)) return new Set();
  const { warnings, needs } = body;
  return new Set([
    ...(Array.isArray(warnings) ? warnings.map((warning) => Object(warning).message) : []),
    ...(Array.isArray(needs) ? needs.map((name) => describeMissingToken(String(name))) : []),
  ]);
}

/** Returns the reply with its warnings if it is an object. A repeated Idempotency-Key returns them as well. */
export function withWarnings(answer: unknown, { warnings }: Pick<Warnings, 'warnings'>): unknown {
  if (warnings.length === 0 || !isRecord(answer)) return answer;
  return { ...answer, warnings: [...getWarnings(answer), ...warnings] };
}

/** Returns the warnings of a reply made by `withWarnings`. */
export const getWarnings = (answer: unknown): Warning[] =>
  isRecord(answer) && Array.isArray(answer.warnings) ? (answer.warnings as Warning[]) : [];

/**
 * Warns about sent fields that only the service sets. A client that writes back a record sends all of them, so unchanged values
 * and `updated_at` cause no warning.
 */
export function listServiceFieldWarnings(
  body: unknown,
  schemas: { body: z.ZodType | null; reply: z.ZodType | null },
  now: unknown,
): Warning[] {
  const replyShape = getShape(schemas.reply);
  const body_shape = getShape(schemas.body);
  if (!isRecord(body)) return [];
  return Object.keys(body)
    .filter((name) => name in replyShape && !(name in body_shape) && !NEVER_WARNED_OF.has(name) && !isOtherName(body_shape, name))
    .filter((name) => !isRecord(now) || !isDeepStrictEqual(body[name], now[name]))
    .map((name) => ({ path: name, message: `\`${name}\` is set by the service; the value sent was ignored` }));
}

const NEVER_WARNED_OF = new Set(['warnings', 'updated_at', 'sign_in', 'needs']);

/** Returns the fields of the record in a reply. */
export const getShape = (schema: z.ZodType | null): object => (schema instanceof z.ZodObject ? schema.shape : {});
