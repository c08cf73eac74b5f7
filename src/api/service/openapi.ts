import { z } from 'zod';
import { createDocument, type ZodOpenApiObject, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi';
import { FieldsProblem, Problem } from '../../contracts/common.ts';
import { carriesWarnings, type Endpoint } from '../../contracts/endpoint.ts';
import { listIdFields } from '../http/fields.ts';
import { describeWithoutLimits } from '../http/stored-replies.ts';
import { codeSamples } from './code-samples.ts';
import { BODIES, RECORDS } from './examples.ts';
import { describeTags } from './tags.ts';

const REASONS: Record<number, string> = {
  304: 'Unchanged since the ETag in If-None-Match',
  400: 'Malformed request',
  401: 'Missing or invalid access token',
  403: "It belongs to someone else, the caller's role or service key does not allow it, or another site asks",
  404: 'Not found',
  406: 'The client does not accept the types of the answer',
  408: 'The request did not arrive in time',
  409: 'Conflict with the present state',
  412: 'If-Match names another state',
  413: 'Body too large',
  415: 'Unsupported content type',
  421: 'The service does not answer to this host',
  422: 'Fields, or filters of the query, are not valid',
  429: 'Too many requests, open streams or other things in use; the code says which, Retry-After when to try again',
  502: 'An upstream service failed',
  503: 'The database or the engine cannot be reached, or too many requests wait; Retry-After says when to try again',
};

const INTRODUCTION = `Runs configurable AI agents durably: create an agent, bind it to a workflow, send the workflow a prompt, and follow the run.

**Access.** Everything under /api, /v1 and /mcp takes a bearer token: of a person, or a service key. Its role and scopes decide which operations it may use (\`x-scope\`).

**Errors** are RFC 9457 problem details, and OpenAI errors under /v1. Every reply has an X-Request-Id: that of the request if it is plain and at most 128 characters long. A traceparent is continued if the installation has traces.

**Clients.** Packages for TypeScript and Python come with Perdura; the samples here use them.`;

/** Returns the OpenAPI 3.1 document, generated from the schemas that validate each endpoint. */
export function describeApi(endpoints: Endpoint[], version: string) {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method.toLowerCase()]: toOperation(endpoint) };
  }
  const api: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Perdura',
      version,
      description: INTRODUCTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      contact: { name: 'The operator of this installation' },
    },
    // The document is served by the API itself, so that its own address is the right one behind every proxy.
    servers: [{ url: '/', description: 'This installation' }],
    ...describeTags(new Set(endpoints.map(({ tag }) => tag))),
    components: { securitySchemes: { access_token: { type: 'http', scheme: 'bearer' } } },
    security: [{ access_token: [] }],
    paths,
  };
  const document = createDocument(api, { override: describeWithoutLimits });
  for (const endpoint of endpoints.filter(carriesWarnings)) describeWarnings(document, endpoint);
  const schemas = document.components!.schemas!;
  dropSentExamples(schemas);
  for (const [name, example] of Object.entries(RECORDS)) Object.assign(schemas[name]!, { example });
  return document;
}

/** Drops the examples of bodies from their variants in replies, which have more fields. */
function dropSentExamples(schemas: Record<string, object>): void {
  for (const [name, schema] of Object.entries(schemas))
    if (name.endsWith('Output') && name.slice(0, -'Output'.length) in schemas) delete (schema as { example?: unknown }).example;
}

const WARNINGS = {
  type: 'array',
  items: { $ref: '#/components/schemas/Warning' },
  description:
    'Present only if there are any: values that were accepted but may not do what you mean. `Prefer: handling=strict` refuses them',
} as const;

/** Adds `warnings` to every such reply, so that record schemas do not repeat it. */
function describeWarnings({ paths, components }: ReturnType<typeof createDocument>, { path, method, status }: Endpoint): void {
  const responses = paths![path]![method.toLowerCase() as 'post']!.responses as Record<number, Answered>;
  const { $ref } = responses[status]!.content['application/json'].schema;
  const record = components!.schemas![$ref.split('/').at(-1)!] as Described;
  record.properties.warnings ??= WARNINGS;
}

interface Answered {
  content: { 'application/json': { schema: { $ref: string } } };
}
interface Described {
  properties: Record<string, object>;
}

/** The paths that require a bearer token. */
const GUARDED = /^\/(api|v1|mcp)\b/;

function toOperation(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { operation, tag, summary, params, query, body, upload, form, path } = endpoint;
  const open = !GUARDED.test(path);
  const example = body ? exampleOf(body) : undefined;
  const samples = codeSamples(endpoint, example);
  return {
    operationId: operation,
    tags: [tag],
    summary,
    description: describeOperation(endpoint),
    ...(endpoint.access ? { 'x-scope': endpoint.access } : {}),
    ...(open ? { security: [] } : {}),
    requestParams: {
      path: params as z.ZodObject,
      query: query as z.ZodObject,
      ...(describeHeaders(endpoint) ? { header: describeHeaders(endpoint)! } : {}),
    },
    ...(samples.length > 0 ? { 'x-codeSamples': samples } : {}),
    ...(body
      ? { requestBody: { required: true, content: { 'application/json': { schema: body, ...(example ? { example } : {}) } } } }
      : {}),
    ...(upload
      ? {
          requestBody: {
            required: true,
            content: { 'multipart/form-data': { schema: form ? FileForm.extend(form.shape) : FileForm } },
          },
        }
      : {}),
    responses: {
      [endpoint.status]: describeSuccess(endpoint),
      ...(endpoint.resumable ? { 204: { description: 'Nothing follows: do not reconnect' } } : {}),
      ...(endpoint.idempotent && endpoint.status !== 200
        ? { 200: { ...describeSuccess(endpoint), description: 'Replayed' } }
        : {}),
      ...(endpoint.accepts
        ? { 202: { ...describeSuccess({ ...endpoint, reply: endpoint.accepts }), description: 'Accepted' } }
        : {}),
      ...(endpoint.notifiable ? { 202: { description: 'Accepted: only notifications, which need no answer' } } : {}),
      ...(endpoint.method === 'GET' && endpoint.kind === 'value' ? { 304: { description: REASONS[304] } } : {}),
      ...(open ? { ...describeUnready(endpoint), ...describeProblems([400, 403, 421, 422]) } : describeRefusals(endpoint)),
    },
  } as ZodOpenApiOperationObject;
}

/** Returns what a request might send; undefined if neither the table of examples nor the schema has any. */
function exampleOf(body: z.ZodType): object | undefined {
  const { id, example } = body.meta() ?? {};
  return (BODIES[id as keyof typeof BODIES] ?? example) as object | undefined;
}

/** Returns the operation's own description, then the facts that hold for all operations of its kind. */
function describeOperation({ description, summary, kind, idempotent, refuses, access }: Endpoint): string {
  const facts = [
    description ?? `${summary}.`,
    kind === 'page' ? 'A page holds `limit` items; the Link header leads to the next one, X-Total-Count counts all.' : '',
    kind === 'none' ? 'Returns no body.' : '',
    idempotent ? 'A repeated Idempotency-Key returns the first reply.' : '',
    refuses.includes(403) ? 'Only for what the caller owns.' : '',
    access ? `Needs the scope \`${access}\`.` : '',
    refuses.includes(412) ? 'With If-Match, a record that has changed since it was read stays unchanged (412).' : '',
  ];
  return facts.filter(Boolean).join(' ');
}

const FileForm = z.object({ file: z.string().meta({ format: 'binary', description: 'The file, with its name' }) });

function describeHeaders({ idempotent, refuses, method, resumable }: Endpoint): z.ZodObject | null {
  const shape = {
    ...(idempotent
      ? {
          'Idempotency-Key': z
            .string()
            .max(255)
            .optional()
            .meta({ description: 'A repeated request within 24 h returns the first reply' }),
        }
      : {}),
    ...(refuses.includes(412) ? { 'If-Match': z.string().optional().meta({ description: 'ETag of the state to change' }) } : {}),
    ...(method !== 'GET'
      ? {
          Prefer: z.string().optional().meta({
            description: '`handling=strict` (RFC 7240): what would be a warning fails with 422, and nothing is written',
          }),
        }
      : {}),
    ...(resumable ? { 'Last-Event-ID': z.string().optional().meta({ description: 'Replay everything after this number' }) } : {}),
  };
  return Object.keys(shape).length > 0 ? z.object(shape) : null;
}

function describeSuccess({ kind, reply, summary, streamed }: Endpoint): object {
  if (kind === 'file')
    return {
      description: 'The file, with its own type',
      content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
    };
  if (kind === 'none' || !reply) return { description: 'Done' };
  if (kind === 'events') return { description: 'Server-sent events', content: { 'text/event-stream': { schema: reply } } };
  if (kind === 'value') {
    const stream = streamed ? { 'text/event-stream': { schema: streamed } } : {};
    return { description: summary, content: { 'application/json': { schema: reply }, ...stream } };
  }
  const headers = {
    'X-Total-Count': { description: 'Items on all pages', schema: { type: 'integer' } },
    Link: { description: 'rel="next" if another page follows', schema: { type: 'string' } },
  };
  return { description: summary, headers, content: { 'application/json': { schema: z.array(reply) } } };
}

const problem = (status: number, refusal?: z.ZodType) => ({
  description: REASONS[status]!,
  content: refusal
    ? { 'application/json': { schema: refusal } }
    : { 'application/problem+json': { schema: status === 422 ? FieldsProblem : Problem } },
});

const describeProblems = (statuses: number[], refusal?: z.ZodType): Record<number, object> =>
  Object.fromEntries(statuses.map((status) => [status, problem(status, refusal)]));

/** Describes the 503 of the readiness check, which has the same body as its 200. */
const describeUnready = (endpoint: Endpoint) =>
  endpoint.operation === 'ready' ? { 503: { ...describeSuccess(endpoint), description: 'Not ready' } } : {};

function describeRefusals({ method, refuses, params, query, idempotent, refusal }: Endpoint): Record<number, object> {
  const has_ids = Object.keys((params as z.ZodObject).shape).length > 0 || listIdFields(query).length > 0;
  const statuses = new Set([
    400,
    401,
    403,
    421,
    422,
    429,
    503,
    ...(has_ids ? [404] : []),
    // A body is read before anybody knows that the operation takes none.
    ...(method === 'GET' ? [] : [408, 413, 415]),
    ...(idempotent ? [409] : []),
    ...refuses,
  ]);
  return describeProblems([...statuses].sort(), refusal);
}
