import { chmodSync, mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { egressRules } from '../../../../src/egress/rules.ts';
import { checkouts } from '../../../../src/tools/checkout.ts';
import { createWorkspaces } from '../../../../src/tools/workspaces.ts';
import { startGitServer } from '../../peers/git-server.ts';
import { until } from '../../until.ts';
import { listDescendants } from '../picture.ts';
import type { Scene, Stage } from './scenes.ts';

type Limits = Partial<Omit<Parameters<typeof checkouts>[0], 'rules' | 'ca_file'>>;
type Order = Partial<Parameters<ReturnType<typeof checkouts>>[0]>;

/** Checkouts of a repository into the workspaces of runs. The workspace of a run that has one is removed at its end. */
export async function open(folder: string): Promise<Stage> {
  const server = await startGitServer({ token: 'the token' });
  const size = 1 << 20;
  const entry = (name: string) => ({ mode: '100644', type: 'blob', id: server.blob(`${name}${'x'.repeat(size)}`), name });
  server.branch('large', server.tree([entry('one'), entry('two')]));
  server.branch('collides', server.tree([{ ...entry('File'), name: 'file' }, entry('File')]));
  const parent = join(folder, 'home', 'workspaces');
  const workspaces = createWorkspaces(parent);
  mkdirSync(parent, { mode: 0o711 });
  const slow = join(folder, 'slow');
  mkdirSync(slow);
  writeFileSync(join(slow, 'git'), '#!/bin/sh\nsleep 600 &\nsleep 600\n');
  chmodSync(join(slow, 'git'), 0o755);

  const checkOut = async (
    id: string,
    { order = {}, limits = {}, signal }: { order?: Order; limits?: Limits; signal?: AbortSignal } = {},
  ) => {
    const options = {
      path: process.env.PATH!,
      ca_file: server.ca_file,
      rules: egressRules(['localhost', '127.0.0.1']),
      ...limits,
    };
    const fill = async (into: string) => {
      const whole = { url: server.url, branch: null, token: 'the token', into, ...order };
      await checkouts(options)(whole, signal ?? new AbortController().signal);
    };
    return readdirSync(await workspaces.openDirectory(id, fill))
      .sort()
      .join(' ');
  };
  const toEnd = async (id: string, more: Parameters<typeof checkOut>[1] = {}) => {
    const outcome = await checkOut(id, more).catch((error: Error) => error.message);
    await workspaces.remove(id);
    return outcome;
  };
  await toEnd('first');

  const scenes: Record<string, Scene> = {
    'a checkout': () => toEnd('ends'),
    'a checkout of a branch': () => toEnd('branch', { order: { branch: 'large' } }),
    'a checkout of a branch that is not there': () => toEnd('wrong', { order: { branch: 'nowhere' } }),
    'a checkout with a wrong token': () => toEnd('token', { order: { token: 'another' } }),
    'a checkout of too large files': () => toEnd('file', { order: { branch: 'large' }, limits: { max_file_bytes: size } }),
    'a checkout of too much': () => toEnd('much', { order: { branch: 'large' }, limits: { max_bytes: size } }),
    'a checkout of too many files': () => toEnd('many', { order: { branch: 'large' }, limits: { max_files: 1 } }),
    'a checkout whose names differ in case only': () => toEnd('case', { order: { branch: 'collides' } }),
    'a checkout from an address that is not allowed': () => toEnd('denied', { order: { url: 'https://10.1.2.3/repo.git' } }),
    'a checkout that takes too long': () => toEnd('slow', { limits: { path: `${slow}:${process.env.PATH}`, timeout_ms: 1_000 } }),
    'a checkout that is cancelled': async () => {
      const stop = new AbortController();
      const known = listDescendants(process.pid).length;
      const ended = toEnd('cancelled', { limits: { path: `${slow}:${process.env.PATH}` }, signal: stop.signal });
      await until('git', async () => listDescendants(process.pid).length > known + 2);
      stop.abort(new Error('halted'));
      return ended;
    },
    'two checkouts of one run at once': async () => {
      const both = await Promise.all([checkOut('same'), checkOut('same')]);
      await workspaces.remove('same');
      return [...new Set(both)].join();
    },
    'a checkout whose place is taken by a file': async () => {
      writeFileSync(join(parent, 'taken'), '');
      return toEnd('taken');
    },
  };
  return {
    scenes,
    async close() {
      await server.stop();
      rmdirSync(parent);
      rmSync(slow, { recursive: true });
    },
  };
}
