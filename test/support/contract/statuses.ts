import type { Server, ServerResponse } from 'node:http';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { schemaReference } from '../database/schema-places.ts';

interface Operation {
  responses: Record<string, { content?: Record<string, { schema?: object }> }>;
}

export interface Description {
  paths: Record<string, Record<string, Operation>>;
}

export interface Answers {
  /** Every response of a server so far, to any client: `GET /api/agents/x 404`. */
  statuses: ReadonlySet<string>;
  /** The first JSON bodies of each operation and status. */
  bodies: readonly Body[];
  /** Begins again with none. */
  forget(): void;
}

interface Body {
  answer: string;
  json: string;
}

const TYPES = ['application/json', 'application/problem+json'];
const MOST_BODIES = 2_000;
const LONGEST_BODY = 64 * 1024;

export function watchAnswers(server: Server): Answers {
  const statuses = new Set<string>();
  const bodies: Body[] = [];
  server.on('request', ({ method, url }, response) => {
    const end = response.end.bind(response) as (...args: unknown[]) => ServerResponse;
    let json: string | null = null;
    response.end = ((...args: unknown[]) => {
      if (typeof args[0] === 'string' && args[0].length < LONGEST_BODY) [json] = args as [string];
      return end(...args);
    }) as typeof response.end;
    response.once('close', () => {
      if (!response.headersSent) return;
      const answer = `${method} ${url?.split('?')[0]} ${response.statusCode}`;
      statuses.add(answer);
      const is_json = TYPES.some((type) => String(response.getHeader('content-type')).startsWith(type));
      if (json && is_json && bodies.length < MOST_BODIES) bodies.push({ answer, json });
    });
  });
  const forget = () => {
    statuses.clear();
    bodies.length = 0;
  };
  return { statuses, bodies, forget };
}

const patternOf = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);

/**
 * Creates a function that finds the described operation of an answer. A path without parameters takes precedence over one that
 * has some.
 */
function finder({ paths }: Description) {
  const known = Object.keys(paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: patternOf(path) }));
  return (answer: string) => {
    const [method = '', path = '', status = ''] = answer.split(' ');
    const found = known.find(({ pattern }) => pattern.test(path));
    const operation = found && paths[found.path]?.[method.toLowerCase()];
    return operation && { operation, method, path: found.path, status };
  };
}

/** Returns answers, such as `GET /api/agents/x 404`, with a status that the description of their operation does not list. */
export function listUndescribed(description: Description, answers: Iterable<string>): string[] {
  const find = finder(description);
  const missing = new Set<string>();
  for (const answer of answers) {
    const found = find(answer);
    if (found && !(found.status in found.operation.responses)) missing.add(`${found.method} ${found.path} ${found.status}`);
  }
  return [...missing].sort();
}

/** Returns bodies that do not match their description, with the reason. */
export function listMisdescribed(description: Description, bodies: readonly Body[]): string[] {
  const find = finder(description);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(description, 'api');
  const wrong = new Set<string>();
  for (const { answer, json } of bodies) {
    const found = find(answer);
    const content = found?.operation.responses[found.status]?.content ?? {};
    const type = TYPES.find((one) => content[one]?.schema);
    if (!found || !type) continue;
    const { path, method, status } = found;
    const pointer = ['paths', path, method.toLowerCase(), 'responses', status, 'content', type, 'schema'];
    const fits = ajv.getSchema(schemaReference('api', pointer))!;
    if (fits(JSON.parse(json))) continue;
    const faults = fits.errors?.map(
      ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
    );
    wrong.add(`${method} ${path} ${status}: ${faults?.[0]}`);
  }
  return [...wrong].sort();
}
