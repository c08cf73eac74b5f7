import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';

interface GitServerOptions {
  token?: string;
  says?: (authorization: string) => string;
  /** The address to which every request is redirected. */
  redirects_to?: string;
}

/**
 * Serves a repository over https with a certificate from a private authority. If `token` is set, it is required as the
 * password.
 */
export async function startGitServer({ token, says, redirects_to }: GitServerOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'perdura-git-server-'));
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: join(folder, 'work'), stdio: 'pipe' })
      .toString()
      .trim();
  execFileSync('git', ['init', '-q', '-b', 'main', join(folder, 'work')]);
  writeFileSync(join(folder, 'work', 'README.md'), 'Hello from the repository.\n');
  git('add', '.');
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.com'];
  git(...who, 'commit', '-qm', 'one');
  git(...who, 'commit', '-qm', 'two', '--allow-empty');
  execFileSync('git', ['clone', '-q', '--bare', join(folder, 'work'), join(folder, 'repo.git')]);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', cert, ...subject],
    { stdio: 'pipe' },
  );

  const asked: { url: string; authorization: string | undefined }[] = [];
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, async (request, response) => {
    const { authorization } = request.headers;
    asked.push({ url: request.url ?? '', authorization });
    if (redirects_to) return void response.writeHead(302, { location: `${redirects_to}${request.url}` }).end();
    if (says && authorization && request.url?.includes('refused'))
      return void response.writeHead(403, { 'content-type': 'text/plain' }).end(says(authorization));
    const wanted = token && `Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`;
    if ((wanted || says) && !authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    if (wanted && authorization !== wanted) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
      return;
    }
    const { pathname, search } = new URL(request.url ?? '/', 'https://localhost');
    const env = {
      ...{ PATH: process.env.PATH, GIT_PROJECT_ROOT: folder, GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: pathname },
      ...{ QUERY_STRING: search.slice(1), REQUEST_METHOD: request.method, CONTENT_TYPE: request.headers['content-type'] ?? '' },
      ...{
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
        GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      },
    };
    const backend = spawn('git', ['http-backend'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    request.pipe(backend.stdin);
    const answer = await buffer(backend.stdout);
    const end = answer.indexOf('\r\n\r\n');
    const lines = answer.subarray(0, end).toString().split('\r\n');
    const headers = Object.fromEntries(lines.map((line) => line.split(': ') as [string, string]));
    const { Status: status = '200', ...rest } = headers;
    response.writeHead(Number.parseInt(status, 10), rest).end(answer.subarray(end + 4));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const plumbing = (args: string[], input = '') =>
    execFileSync('git', ['-C', join(folder, 'repo.git'), ...who, ...args], { input })
      .toString()
      .trim();
  return {
    /** Creates one object and returns its id. */
    blob: (content: string) => plumbing(['hash-object', '-w', '--stdin'], content),
    tree: (entries: { mode: string; type: string; id: string; name: string }[]) =>
      plumbing(['mktree', '-z'], entries.map(({ mode, type, id, name }) => `${mode} ${type} ${id}\t${name}\0`).join('')),
    /** Creates a branch of one commit with this tree. */
    branch: (name: string, tree: string) =>
      plumbing(['update-ref', `refs/heads/${name}`, plumbing(['commit-tree', tree, '-m', name])]),
    url: `https://localhost:${(server.address() as AddressInfo).port}/repo.git`,
    ca_file: cert,
    head: git('rev-parse', 'HEAD'),
    asked,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
