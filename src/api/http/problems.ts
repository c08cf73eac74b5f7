import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint } from '../../contracts/endpoint.ts';
import { AppError, type ErrorKind, type FieldError } from '../../domain/errors.ts';
import { findOutage } from '../../domain/outages.ts';
import { inOneLine } from '../../domain/reason.ts';
import { MOST_MIB } from './uploads.ts';

const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  not_acceptable: 406,
  conflict: 409,
  timeout: 408,
  precondition: 412,
  too_large: 413,
  unsupported: 415,
  unprocessable: 422,
  too_many: 429,
  upstream: 502,
  unavailable: 503,
};

const TITLES: Record<number, string> = {
  400: 'Bad request',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  405: 'Method not allowed',
  406: 'Not acceptable',
  408: 'Too slow',
  409: 'Conflict',
  412: 'Changed meanwhile',
  413: 'Too large',
  415: 'Unsupported content type',
  417: 'Expectation not met',
  421: 'Not this host',
  422: 'Fields are not valid',
  429: 'Too many requests',
  500: 'Internal error',
  502: 'An upstream service failed',
  503: 'Not available now',
};

/** This service's codes and messages for Fastify's errors. */
const FASTIFY: Record<string, { code: string; detail: string }> = {
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'too_large', detail: 'The body is larger than this service accepts' },
  FST_REQ_FILE_TOO_LARGE: { code: 'too_large', detail: `The file is larger than the ${MOST_MIB} MiB that this service accepts` },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: { code: 'unsupported_content_type', detail: 'Send the body as application/json' },
  FST_ERR_CTP_INVALID_CONTENT_TYPE: { code: 'unsupported_content_type', detail: 'Send the body as application/json' },
  FST_ERR_CTP_EMPTY_JSON_BODY: { code: 'malformed_body', detail: 'The body is empty; send a JSON object' },
  FST_ERR_CTP_INVALID_JSON_BODY: { code: 'malformed_body', detail: 'The body is not valid JSON' },
  FST_ERR_BAD_URL: { code: 'malformed_path', detail: 'The path is not valid: percent-encode it as UTF-8, and write % as %25' },
};

/** Seconds until a retry if nothing better is known. */
const RETRY_AFTER_S = 5;

export interface ProblemFacts {
  status: number;
  code: string;
  detail: string;
  errors?: FieldError[] | undefined;
  retry_after_s?: number | undefined;
}

/** Returns the problem document of a refusal. */
export const toProblemBody = ({ status, code, detail, errors }: ProblemFacts, request_id: string) => ({
  type: `urn:perdura:problem:${code}`,
  title: TITLES[status] ?? 'Error',
  status,
  detail,
  code,
  request_id,
  ...(errors ? { errors } : {}),
});

/** Sets the headers of a refusal, regardless of its body. */
function headRefusal(reply: FastifyReply, { status, retry_after_s }: Pick<ProblemFacts, 'status' | 'retry_after_s'>): void {
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  if (retry_after_s !== undefined) reply.header('retry-after', String(Math.ceil(retry_after_s)));
}

/** Sends a refusal: an error of OpenAI's format to its clients under /v1, problem details everywhere else. */
export function sendProblem(request: FastifyRequest, reply: FastifyReply, facts: ProblemFacts): FastifyReply {
  headRefusal(reply, facts);
  reply.code(facts.status);
  if (/^\/v1(?:[/?]|$)/.test(request.url)) return reply.type('application/json').send(toOpenAIError(facts));
  return reply.type('application/problem+json').send(JSON.stringify(toProblemBody(facts, request.id)));
}

const OPENAI_TYPES: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  409: 'conflict_error',
  429: 'rate_limit_error',
};

/** Returns a refusal in the form that OpenAI's clients read. */
export const toOpenAIError = ({ status, detail, code, errors }: ProblemFacts) => ({
  error: {
    message: detail,
    type: OPENAI_TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error'),
    code,
    param: errors?.[0]?.path ?? null,
  },
});

/** Refuses a request that has no route: 405 with the methods of its path, 404 if the path is unknown. */
export function refuseRoute(endpoints: readonly Endpoint[], request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const methods = [...new Set([...listMethods(endpoints, request.url), ...listPageMethods(request)])].sort();
  // A method that the path has: a part of the path is longer than any id.
  if (methods.length === 0 || methods.includes(request.method)) return sendProblem(request, reply, unknownRoute(request));
  return sendProblem(request, reply.header('allow', methods.join(', ')), wrongMethod(request, methods));
}

/** Lists the methods of a route that is not an operation, such as /docs. */
const listPageMethods = ({ server, url }: FastifyRequest): string[] =>
  ['GET', 'POST', 'DELETE'].filter((method) => server.hasRoute({ method, url: url.split('?')[0]! }));

/** Lists the methods of a path; the list is empty if the path is unknown. */
function listMethods(endpoints: readonly Pick<Endpoint, 'method' | 'path'>[], url: string): string[] {
  const parts = url.split('?')[0]!.split('/');
  const fits = (path: string) => {
    const segments = path.split('/');
    return segments.length === parts.length && segments.every((part, at) => part.startsWith('{') || part === parts[at]);
  };
  // A fixed path segment is not an id: /api/skills/export does not match /api/skills/{id}.
  const matches = endpoints.filter(({ path }) => fits(path));
  const exact_matches = matches.filter(({ path }) => !path.endsWith('}'));
  return [...new Set((exact_matches.length > 0 ? exact_matches : matches).map(({ method }) => method))].sort();
}

export const wrongMethod = ({ method, url }: { method: string; url: string }, methods: readonly string[]): ProblemFacts => ({
  status: 405,
  code: 'method_not_allowed',
  detail: `${url.split('?')[0]} accepts ${methods.join(', ')}, not ${method}`,
});

export const unknownRoute = ({ method, url }: { method: string; url: string }): ProblemFacts => ({
  status: 404,
  code: 'not_found',
  detail: `There is no ${method} ${url.split('?')[0]}; /docs lists all operations`,
});

/** Maps every thrown error to a reply; no other code does. An unexpected error becomes a 500 that shows only its request id. */
export function toProblem(error: FastifyError | AppError | Error): ProblemFacts {
  const facts = classifyError(error);
  const { retry_after_s = facts.status === 503 ? RETRY_AFTER_S : undefined } = facts;
  return { ...facts, retry_after_s };
}

const TOO_LONG = 'A name, a tag or another text that is searched for is too long; send less than 2,000 characters';

/** True if one of the texts is too long for a database index (SQLSTATE 54000, also as Prisma wraps it). */
function isBeyondLimits(error: Error): boolean {
  const { code, meta } = error as { code?: unknown; meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } } };
  return [code, meta?.driverAdapterError?.cause?.originalCode].includes('54000');
}

function classifyError(error: FastifyError | AppError | Error): ProblemFacts {
  if (error instanceof AppError) {
    const { kind, code, message: detail, errors, retry_after_s } = error;
    return { status: STATUS[kind], code, detail, errors, retry_after_s };
  }
  const { code = '', statusCode } = error as FastifyError;
  if (isBeyondLimits(error))
    return { status: 422, code: 'text_too_long', detail: TOO_LONG, errors: [{ path: 'body', message: TOO_LONG }] };
  const outage = findOutage(error);
  if (outage) return { status: 503, code: outage.code, detail: `${outage.sentence}; try again shortly` };
  if (statusCode === 429)
    return { status: 429, code: 'rate_limited', detail: 'Too many requests; wait as long as Retry-After says' };
  if (statusCode && statusCode < 500) {
    const is_malformed = statusCode === 400 && error instanceof SyntaxError;
    const facts = is_malformed ? FASTIFY.FST_ERR_CTP_INVALID_JSON_BODY : FASTIFY[code];
    return { status: statusCode, code: toErrorCode(statusCode), detail: error.message, ...facts };
  }
  return {
    status: 500,
    code: 'internal',
    detail: 'Internal error; the log of the service has the details under this request id',
  };
}

const toErrorCode = (status: number) =>
  status === 413 ? 'too_large' : status === 415 ? 'unsupported_content_type' : status === 400 ? 'malformed_body' : 'refused';

/**
 * Logs why a request or stream failed. A failure of an upstream service, or something that the installation lacks, takes one
 * line: a stack of this service's code would not help. Any other error is a bug, and keeps its stack.
 */
export function logFault(log: FastifyBaseLogger, error: Error, what: string): void {
  const outage = findOutage(error);
  if (outage) log.error({ error_code: outage.code }, `${what}: ${inOneLine(error.message)}`);
  else if (error instanceof AppError) log.warn({ error_code: error.code }, `${what}: ${inOneLine(error.message)}`);
  else log.error({ err: error }, what);
}

/** Replies to every refusal and failure with a problem document, and to paths and methods that no route has. */
export function refuseInOurWords(http: FastifyInstance, endpoints: readonly Endpoint[] = []): void {
  http.setErrorHandler((error: Error, request, reply) => {
    const problem = toProblem(error);
    if (problem.status >= 500) logFault(request.log, error, 'request failed');
    return sendProblem(request, reply, problem);
  });
  http.setNotFoundHandler((request, reply) => refuseRoute(endpoints, request, reply));
}
