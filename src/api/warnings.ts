import { isDeepStrictEqual } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Warning } from '../contracts/common.ts';
import { unprocessable } from '../domain/errors.ts';

/** Doubts about a request that succeeds. */
export interface Warnings {
  /**
   * Adds to the answer's `warnings`. A request that asked for strict handling (RFC 7240) is refused with 422 instead, so it is called
   * before anything is written.
   */
  warn(...warnings: Warning[]): void;
  /** Whether doubts refuse the request; for those who learn them only while they write. */
  readonly strict: boolean;
  readonly warnings: readonly Warning[];
}

const STRICT = /(?:^|[,;\s])handling\s*=\s*"?strict"?(?=$|[,;\s])/i;

export function warningsOf({ method, headers }: Pick<FastifyRequest, 'method' | 'headers'>, reply: FastifyReply): Warnings {
  const strict = method !== 'GET' && STRICT.test([headers.prefer ?? []].flat().join(', '));
  if (strict) reply.header('preference-applied', 'handling=strict');
  const warnings: Warning[] = [];
  return {
    strict,
    warnings,
    warn(...more) {
      warnings.push(...more);
      if (strict && warnings.length > 0) throw unprocessable(warnings, 'strict_handling');
    },
  };
}

/** The answer with what was doubted, where it is an object: so it is kept for a repeated Idempotency-Key too. */
export function withWarnings(answer: unknown, { warnings }: Pick<Warnings, 'warnings'>): unknown {
  if (warnings.length === 0 || !isObject(answer)) return answer;
  return { ...answer, warnings: [...warningsIn(answer), ...warnings] };
}

/** What an answer of `withWarnings` carries. */
export const warningsIn = (answer: unknown): Warning[] =>
  isObject(answer) && Array.isArray(answer.warnings) ? (answer.warnings as Warning[]) : [];

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Fields that the service sets and a request sends. A client that writes back what it has read sends them all: those that are as they
 * are now say nothing, and neither does the time of the last change.
 */
export function settled(body: unknown, schemas: { body: z.ZodType | null; reply: z.ZodType | null }, now: unknown): Warning[] {
  const replyShape = shapeOf(schemas.reply);
  const taken = shapeOf(schemas.body);
  if (!isObject(body)) return [];
  return Object.keys(body)
    .filter((name) => name in replyShape && !(name in taken) && !SILENT.has(name))
    .filter((name) => !isObject(now) || !isDeepStrictEqual(body[name], now[name]))
    .map((name) => ({ path: name, message: `\`${name}\` is set by the service; the value sent was left aside` }));
}

const SILENT = new Set(['warnings', 'updated_at']);

/** The fields of the record that an answer shows. */
export const shapeOf = (schema: z.ZodType | null): object => (schema instanceof z.ZodObject ? schema.shape : {});
