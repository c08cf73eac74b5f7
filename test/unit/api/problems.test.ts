import Fastify from 'fastify';
import { describe, expect, it } from 'vitest';
import { FileReply, sendFile } from '../../../src/api/http/file-reply.ts';
import { logFault, refuseInOurWords, toOpenAIError, toProblem } from '../../../src/api/http/problems.ts';
import { AppError, type ErrorKind } from '../../../src/domain/errors.ts';
import { asOutage } from '../../../src/domain/outages.ts';

const STATUSES: Record<ErrorKind, number> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  not_acceptable: 406,
  timeout: 408,
  conflict: 409,
  precondition: 412,
  too_large: 413,
  unsupported: 415,
  unprocessable: 422,
  too_many: 429,
  upstream: 502,
  unavailable: 503,
};

describe('a refusal', () => {
  it.each(Object.entries(STATUSES))('of the kind %s has the status %i, a sentence and a code', (kind, status) => {
    expect(toProblem(new AppError(kind as ErrorKind, 'A sentence.', { code: 'a_code' }))).toEqual({
      ...{ status, code: 'a_code', detail: 'A sentence.', errors: undefined },
      // What is not available now may be soon.
      retry_after_s: status === 503 ? 5 : undefined,
    });
  });

  it('keeps the time to wait of the one who refused', () => {
    for (const kind of ['unavailable', 'too_many'] as const)
      expect(toProblem(new AppError(kind, 'x', { code: 'x', retry_after_s: 37 })).retry_after_s).toBe(37);
  });

  it.each([
    ['by the database', { code: '54000' }],
    ['by the database, through Prisma', { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '54000' } } } }],
  ])('of a text that is too long for an index is the fault of the request: %s', (_, facts) => {
    const error = Object.assign(new Error('index row size 2712 exceeds btree version 4 maximum 2704'), facts);
    expect(toProblem(error)).toMatchObject({ status: 422, code: 'text_too_long', errors: [{ path: 'body' }] });
    expect(toProblem(error).detail).not.toContain('btree');
  });

  it.each([
    ['a rate limit', { statusCode: 429 }, { status: 429, code: 'rate_limited' }],
    ['a body that is too large', { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }, { status: 413, code: 'too_large' }],
    ['a file that is too large', { code: 'FST_REQ_FILE_TOO_LARGE', statusCode: 413 }, { status: 413, code: 'too_large' }],
    ['a body of another type', { statusCode: 415 }, { status: 415, code: 'unsupported_content_type' }],
    ['a path that is none', { code: 'FST_ERR_BAD_URL', statusCode: 400 }, { status: 400, code: 'malformed_path' }],
    ['a refusal of the framework', { statusCode: 418 }, { status: 418, code: 'refused' }],
    ['a failure of the framework', { statusCode: 501 }, { status: 500, code: 'internal' }],
    ['a defect', {}, { status: 500, code: 'internal' }],
  ])('is made of %s', (_, facts, expected) => {
    expect(toProblem(Object.assign(new Error('a text of the inside'), facts))).toMatchObject(expected);
  });

  it('says of what the installation lacks what to do, and of a defect only where to look', () => {
    const down = asOutage(new Error('at 10.0.0.1'), { code: 'database_unavailable', sentence: 'The database is down' });
    expect(toProblem(down)).toEqual({
      ...{ status: 503, code: 'database_unavailable', retry_after_s: 5 },
      detail: 'The database is down; try again shortly',
    });
    expect(toProblem(new Error('a text of the inside')).detail).toBe(
      'Internal error; the log of the service has the details under this request id',
    );
  });

  it.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [403, 'permission_error'],
    [404, 'invalid_request_error'],
    [409, 'conflict_error'],
    [422, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [499, 'invalid_request_error'],
    [500, 'server_error'],
    [503, 'server_error'],
  ])('with the status %i is a %s to OpenAI’s clients', (status, type) => {
    const errors = ['first', 'second'].map((path) => ({ path, message: 'x' }));
    expect(toOpenAIError({ status, code: 'c', detail: 'd', errors })).toEqual({
      error: { message: 'd', type, code: 'c', param: 'first' },
    });
    expect(toOpenAIError({ status, code: 'c', detail: 'd' }).error.param).toBeNull();
  });

  it('has the headers of its status: how to sign in, and when to try again in whole seconds', async () => {
    const http = Fastify();
    refuseInOurWords(http);
    http.get('/:kind', async ({ params }) => {
      const { kind } = params as { kind: ErrorKind };
      throw new AppError(kind, 'x', { code: 'x', ...(kind === 'too_many' ? { retry_after_s: 1.2 } : {}) });
    });
    const headersOf = async (kind: ErrorKind) => {
      const { headers } = await http.inject(`/${kind}`);
      return [headers['www-authenticate'], headers['retry-after'], headers['content-type']];
    };
    const json = expect.stringContaining('application/problem+json');
    expect(await headersOf('unauthorized')).toEqual(['Bearer', undefined, json]);
    expect(await headersOf('forbidden')).toEqual([undefined, undefined, json]);
    expect(await headersOf('too_many')).toEqual([undefined, '2', json]);
    expect(await headersOf('unavailable')).toEqual([undefined, '5', json]);
  });
});

it.each<[string, Error, unknown[]]>([
  [
    'an outage takes one line',
    asOutage(new Error('down\nat 10.0.0.1'), { code: 'database_unavailable', sentence: 'The database is down' }),
    ['error', { error_code: 'database_unavailable' }, 'request failed: down at 10.0.0.1'],
  ],
  [
    'a refusal takes one line, and alarms nobody',
    new AppError('upstream', 'No\nanswer', { code: 'no_answer' }),
    ['warn', { error_code: 'no_answer' }, 'request failed: No answer'],
  ],
  ['a defect keeps its stack', new Error('x'), ['error', { err: new Error('x') }, 'request failed']],
])('in the log, %s', (_, error, expected) => {
  const lines: unknown[][] = [];
  const log = {
    error: (...line: unknown[]) => lines.push(['error', ...line]),
    warn: (...line: unknown[]) => lines.push(['warn', ...line]),
  };
  logFault(log as never, error, 'request failed');
  expect(lines).toEqual([expected]);
});

it('a file of a user is a download, with its name in any script and a policy under which nothing of it runs', async () => {
  const http = Fastify();
  const file = { name: "Ünïcode (1)'s *.html", media_type: 'text/html', content: Buffer.from('<script>1</script>') };
  http.get('/', async (_, reply) => sendFile(reply, new FileReply(file)));
  const { headers, body } = await http.inject('/');
  expect(body).toBe('<script>1</script>');
  expect(headers).toMatchObject({
    'content-type': expect.stringContaining('text/html'),
    'content-disposition': "attachment; filename*=UTF-8''%C3%9Cn%C3%AFcode%20%281%29%27s%20%2A.html",
    'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
  });
});
