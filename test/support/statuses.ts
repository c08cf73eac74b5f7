import type { Server } from 'node:http';

export interface Description {
  paths: Record<string, Record<string, { responses: Record<string, unknown> }>>;
}

/** Every response of a server so far, to whatever client: `GET /api/agents/x 404`. */
export function watchAnswers(server: Server): ReadonlySet<string> {
  const answers = new Set<string>();
  server.on('request', ({ method, url }, response) =>
    response.once('close', () => {
      if (response.headersSent) answers.add(`${method} ${url?.split('?')[0]} ${response.statusCode}`);
    }),
  );
  return answers;
}

const patternOf = (path: string) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`);

/** Answers, such as `GET /api/agents/x 404`, with a status that the description of their operation does not list. */
export function undescribed({ paths }: Description, answers: Iterable<string>): string[] {
  // A path without parameters goes before one that has some.
  const known = Object.keys(paths)
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .map((path) => ({ path, pattern: patternOf(path) }));
  const missing = new Set<string>();
  for (const answer of answers) {
    const [method, path, status] = answer.split(' ') as [string, string, string];
    const found = known.find(({ pattern }) => pattern.test(path));
    const operation = found && paths[found.path]?.[method.toLowerCase()];
    if (operation && !(status in operation.responses)) missing.add(`${method} ${found.path} ${status}`);
  }
  return [...missing].sort();
}
