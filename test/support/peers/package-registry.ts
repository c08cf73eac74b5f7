import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface PackageRegistry {
  /** The address of the npm registry; the index of Python packages is at `/simple`. */
  url: string;
  /** The paths of the requests. */
  requests: string[];
  /** Publishes an npm package whose program is `program`. */
  npm(name: string, program: string, scripts?: Record<string, string>): void;
  /** Publishes a wheel whose program of the same name calls `main` of the module `program`. */
  wheel(name: string, program: string): void;
  close(): void;
}

const WHEEL = `
import sys, zipfile
target, name, source = sys.argv[1:]
info = f"{name}-1.0.dist-info"
with zipfile.ZipFile(target, "w") as wheel:
    wheel.write(source, f"{name}.py")
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr(f"{info}/entry_points.txt", f"[console_scripts]\\n{name} = {name}:main\\n")
    wheel.writestr(f"{info}/RECORD", f"{name}.py,,\\n{info}/METADATA,,\\n{info}/WHEEL,,\\n{info}/entry_points.txt,,\\n{info}/RECORD,,\\n")
`;

/** Starts a registry on this machine from which npm and pip install. */
export async function startPackageRegistry(): Promise<PackageRegistry> {
  const files = new Map<string, Buffer | string>();
  const requests: string[] = [];
  const dir = mkdtempSync(join(tmpdir(), 'perdura-registry-'));
  const server = createServer(({ url = '' }, response) => {
    requests.push(url);
    const file = files.get(decodeURIComponent(url));
    if (file === undefined) return void response.writeHead(404).end('{}');
    response.setHeader('content-type', url.startsWith('/simple') ? 'text/html' : 'application/json').end(file);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    requests,
    npm(name, program, scripts = {}) {
      const folder = join(dir, name, 'package');
      mkdirSync(folder, { recursive: true });
      cpSync(program, join(folder, 'server.mjs'));
      const manifest = { name, version: '1.0.0', bin: { 'a-program': 'server.mjs' }, scripts };
      writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
      const tarball = execFileSync('tar', ['-cz', '-C', join(dir, name), 'package']);
      const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
      const version = { ...manifest, hasInstallScript: true, dist: { tarball: `${url}/${name}.tgz`, integrity } };
      files.set(`/${name}`, JSON.stringify({ name, 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }));
      files.set(`/${name}.tgz`, tarball);
    },
    wheel(name, program) {
      const file = `${name}-1.0-py3-none-any.whl`;
      execFileSync('python3', ['-c', WHEEL, join(dir, file), name, program]);
      files.set(`/simple/${name}/`, `<a href="/files/${file}">${file}</a>`);
      files.set(`/files/${file}`, readFileSync(join(dir, file)));
    },
    close() {
      server.closeAllConnections();
      server.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
