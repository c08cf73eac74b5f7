import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import type { Warning } from '../../contracts/common.ts';
import { parseCommentedJson } from '../../domain/commented-json.ts';
import { AppError } from '../../domain/errors.ts';
import { parseExact, parseRounded } from '../../domain/exact-json.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the contract; absent: the route is not one of it. */
    operation?: string;
    /** If true, integers are kept as they were written. */
    exact?: boolean;
    /** If true, comments and trailing commas are accepted. */
    commented?: boolean;
  }
  interface FastifyRequest {
    /** Warnings about the first integers of the body that a double cannot hold. */
    rounded?: readonly Warning[];
  }
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
/** The deepest nesting accepted before parsing. It is looser than the limit in `validate.ts`, which names the field. */
const DEEPEST = 1_000;
const MOST_NAMED = 20;

/**
 * Parses JSON bodies. Parsing and validation block the main thread for a time that depends more on the number of values than on
 * bytes, so values are counted first. A POST without a body may still send the JSON content type, or that of plain text, as
 * `fetch` does with an empty text.
 */
export function parseJsonBody(http: FastifyInstance, most_values: number): void {
  http.removeContentTypeParser('text/plain');
  http.addContentTypeParser('text/plain', refuseText);
  http.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    try {
      refuseEncoding(request.headers['content-encoding']);
      refuseExcess(body as Buffer, most_values);
      const text = new TextDecoder('utf-8', { fatal: true }).decode(body as Buffer);
      if (text.trim() === '') return done(null, undefined);
      if (request.routeOptions.config.commented) return done(null, parseCommentedJson(text));
      if (request.routeOptions.config.exact) return done(null, parseExact(text));
      const { value, losses } = parseRounded(text);
      request.rounded = losses.slice(0, MOST_NAMED).map(({ place, double }) => ({
        path: place,
        message: `\`${place}\` was read as ${double}, because a number holds about 15 digits; send it as a text`,
      }));
      done(null, value);
    } catch (error) {
      if (error instanceof AppError) return done(error);
      done(Object.assign(new SyntaxError((error as Error).message), { statusCode: 400 }));
    }
  });
}

async function refuseText({ headers }: FastifyRequest, payload: IncomingMessage): Promise<void> {
  const [chunk] = await Promise.race([once(payload, 'data'), once(payload, 'end')]);
  if (chunk !== undefined) throw new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(headers['content-type']);
}

function refuseEncoding(encoding: string | undefined): void {
  if (encoding && encoding.toLowerCase() !== 'identity')
    throw new AppError('unsupported', `Send the body as it is: this service does not unpack the Content-Encoding ${encoding}`, {
      code: 'unsupported_content_encoding',
    });
}

function refuseExcess(body: Buffer, most_values: number): void {
  const { values, depth } = measureJson(body, most_values);
  if (values > most_values)
    throw new AppError('too_large', `The body has more than ${most_values} values (JSON_VALUES); send it in several requests`, {
      code: 'json_values_limit',
    });
  if (depth > DEEPEST)
    throw new AppError('too_large', `The body is nested more than ${DEEPEST} levels deep`, { code: 'json_depth_limit' });
}

/** Counts the values (members and items) and the depth of a JSON text. Stops once either limit is exceeded. */
function measureJson(text: Uint8Array, most: number): { values: number; depth: number } {
  let [values, depth, deepest] = [1, 0, 0];
  for (let at = 0; at < text.length && values <= most && deepest <= DEEPEST; at += 1) {
    const byte = text[at];
    if (byte === QUOTE) at = endOfString(text, at + 1);
    else if (byte === COMMA) values += 1;
    else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) depth -= 1;
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      values += 1;
      depth += 1;
      deepest = Math.max(deepest, depth);
    }
  }
  return { values, depth: deepest };
}

function endOfString(text: Uint8Array, start: number): number {
  let at = start;
  while (at < text.length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at;
}
