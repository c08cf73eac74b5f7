import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

interface Package {
  version?: string;
  integrity?: string;
  link?: boolean;
  resolved?: string;
}

const root = new URL('../../', import.meta.url);
const json = async (file: string) => JSON.parse(await readFile(new URL(file, root), 'utf8'));
const packages = async () => {
  const lock = (await json('package-lock.json')) as { packages: Record<string, Package> };
  return Object.entries(lock.packages).filter(([path, { link }]) => path !== '' && !link);
};

it('names the integrity of every package it installs; `npm view <name>@<version> dist.integrity` prints a missing one', async () => {
  const found = await packages();
  expect(found.length).toBeGreaterThan(500);
  expect(found.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? '')).map(([path]) => path)).toEqual([]);
});

it('names no registry, so that everybody installs from their own', async () => {
  expect(await readFile(new URL('.npmrc', root), 'utf8')).toContain('omit-lockfile-registry-resolved=true');
  expect((await packages()).filter(([, { resolved }]) => resolved).map(([path]) => path)).toEqual([]);
});

it('writes a CycloneDX list of its contents, each with its hash', async () => {
  const { scripts } = (await json('package.json')) as { scripts: Record<string, string> };
  const [npm, ...args] = (scripts.sbom ?? '').split(' > ')[0]?.split(' ') ?? [];
  const { stdout } = await promisify(execFile)(npm as string, args, { cwd: root, maxBuffer: 64 << 20 });
  const bom = JSON.parse(stdout);
  expect(bom).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5', version: 1 });
  expect(bom.metadata.component).toMatchObject({ type: 'application', purl: expect.stringMatching(/^pkg:npm\/perdura@/) });
  const components = bom.components as { name: string; version: string; purl: string; hashes?: { alg: string }[] }[];
  const names = new Set(components.map(({ name, version }) => `${name}@${version}`));
  const locked = (await packages()).map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`);
  expect(locked.filter((name) => !names.has(name))).toEqual([]);
  expect(components.filter(({ purl, hashes }) => !purl.startsWith('pkg:npm/') || hashes?.[0]?.alg !== 'SHA-512')).toEqual([]);
}, 60_000);
