import { z } from 'zod';
import { Id, Timestamp } from './common.ts';
import { endpoint, IdParams } from './endpoint.ts';

const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

/** The most tokens of one thread that are valid at the same time. */
export const MOST_THREAD_TOKENS = 1_000;

const isOrigin = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text) && new URL(text).origin === text;

const ThreadTokenCreate = z
  .object({
    ttl_seconds: z
      .int()
      .min(MINUTE)
      .max(DAY)
      .default(10 * MINUTE),
    origins: z
      .array(z.string().max(300).refine(isOrigin, 'takes origins such as https://shop.example, without a path'))
      .max(100)
      .default([])
      .meta({ description: 'The sites whose pages may use it; browsers of others are refused. Empty: those of `CORS_ORIGINS`' }),
  })
  .meta({ id: 'ThreadTokenCreate', example: { ttl_seconds: 900, origins: ['https://shop.example'] } });

const NewThreadToken = z
  .object({
    thread_id: Id,
    token: z.string().meta({
      description: 'Shown only in this reply',
      example: 'pt_bm90IGEgdG9rZW4gYXQgYWxsLCBvbmx5IGFuIGV4YW1wbGUgb2Ygb25lISEh',
    }),
    origins: z.array(z.string()),
    expires_at: Timestamp,
  })
  .meta({ id: 'NewThreadToken' });

const tag = 'Threads';

export const threadTokens = {
  create: endpoint('POST /api/threads/{id}/tokens', {
    operation: 'create_thread_token',
    access: 'run',
    tag,
    summary: 'Create a token for a page',
    description:
      'A short-lived bearer token that opens one thread, its turns, their streams, decisions and answers, and nothing else. It acts as you, with the ' +
      'rights that you have when it is used, and ends with the thread, or with the service key that made it.',
    params: IdParams,
    body: ThreadTokenCreate,
    reply: NewThreadToken,
    status: 201,
    refuses: [403, 409],
  }),
  revoke: endpoint('DELETE /api/threads/{id}/tokens', {
    operation: 'revoke_thread_tokens',
    access: 'run',
    tag,
    summary: 'Revoke all tokens of a thread',
    description: 'They stop working within seconds, on every server; streams that are open with them end.',
    params: IdParams,
    refuses: [403],
  }),
};
