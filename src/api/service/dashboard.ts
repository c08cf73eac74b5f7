import { access } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import files from '@fastify/static';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendProblem, unknownRoute, wrongMethod } from '../http/problems.ts';
import { PAGE_POLICY } from '../http/secure-headers.ts';

export interface DashboardSettings {
  /** The built dashboard. The build may finish while the server runs. */
  folder: string;
  legacy_folder: string;
}

const HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'cache-control': 'no-cache',
};
/** Caches an asset indefinitely, because the build names assets by a hash of their content. */
const FOREVER = 'public, max-age=31536000, immutable';
const PAGE = 'index.html';
const READING = ['GET', 'HEAD'];

const NOT_BUILT = `The dashboard has not been built.

npm start builds it. In a checkout without npm start, run

  npx vite build --config src/dashboard/vite.config.ts

The API is not concerned: see /docs. A simpler dashboard that needs no build is at /dashboard-legacy.
`;

/** Serves both dashboards. Their files are public; they fetch data from `/api` with the user's token. */
export async function serveDashboards(http: FastifyInstance, { folder, legacy_folder }: DashboardSettings): Promise<void> {
  http.get('/', async (_request, reply) => reply.redirect('/dashboard'));
  await http.register((scope) => serveBuilt(scope, folder), { prefix: '/dashboard' });
  await http.register((scope) => serveFiles(scope, legacy_folder), { prefix: '/dashboard-legacy' });
}

/** Serves the built application. It routes its own paths, so each of them returns its page. */
async function serveBuilt(scope: FastifyInstance, folder: string): Promise<void> {
  await serveFiles(scope, folder);
  scope.setNotFoundHandler(async (request, reply) => {
    if (!READING.includes(request.method))
      return sendProblem(request, reply.header('allow', READING.join(', ')), wrongMethod(request, READING));
    if (!isClientRoute(request)) return sendProblem(request, reply, unknownRoute(request));
    if (await exists(join(folder, PAGE))) return reply.sendFile(PAGE);
    return reply.code(503).type('text/plain; charset=utf-8').send(NOT_BUILT);
  });
}

async function serveFiles(scope: FastifyInstance, root: string): Promise<void> {
  const assets = join(root, 'assets') + sep;
  scope.addHook('onRequest', async (_request, reply) => void reply.headers(HEADERS));
  await scope.register(files, {
    root,
    index: PAGE,
    dotfiles: 'ignore',
    cacheControl: false,
    suppressWarning: true,
    setHeaders: (reply, path) => void (path.startsWith(assets) && reply.header('cache-control', FOREVER)),
  });
  scope.get('', (_request, reply) => reply.sendFile(PAGE));
}

/** True if the application routes the path. A path that names a file is excluded: a missing script must not return a page. */
function isClientRoute({ url }: FastifyRequest): boolean {
  const path = url.split('?')[0]!;
  return extname(path) === '' && !path.startsWith('/dashboard/assets/');
}

const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
