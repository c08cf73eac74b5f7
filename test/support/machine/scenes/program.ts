import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findRemains, listDescendants, takeSteadyPicture } from '../picture.ts';
import type { Open, SceneReport, StageReport } from './scenes.ts';

/*
 * A program that plays the scenes of one stage, and compares the machine after each with the machine before it. Its parent
 * adopts orphans. Prints a `StageReport`.
 */

const STAGES: Record<string, () => Promise<{ open: Open }>> = {
  tools: () => import('./tools.ts'),
  commands: () => import('./commands.ts'),
  servers: () => import('./servers.ts'),
  checkouts: () => import('./checkouts.ts'),
  backups: () => import('./backups.ts'),
  leaks: () => import('./leaks.ts'),
};

interface PlayOptions {
  stage: string;
  /** The scenes to play; all by default. */
  only?: string[];
  options: never;
  patience_ms: number;
}

const { stage: name, only, options, patience_ms } = JSON.parse(process.argv[2]!) as PlayOptions;
const folder = mkdtempSync(join(tmpdir(), 'stage-'));
// Tools that run as other users traverse it.
chmodSync(folder, 0o711);
mkdirSync(join(folder, 'home'));
/** A server's own files change with every start. */
const ignored = /^file: .*\/postgres\/data\//;
const view = { ancestor: process.ppid, folders: [tmpdir()], ignored };
const STEADY_MS = 10_000;

// Node keeps a descriptor ready from the first server on.
const server = createServer().listen(0);
await once(server, 'listening');
await once(server.close(), 'close');

const report: StageReport = { scenes: {}, left: [] };
const { open } = await STAGES[name]!();
const empty = await takeSteadyPicture(view, STEADY_MS);
const { scenes, close } = await open(folder, options);
let before = await takeSteadyPicture(view, STEADY_MS);
for (const [title, play] of Object.entries(scenes).filter(([title]) => !only || only.includes(title))) {
  const outcome = await play().catch((error: Error) => error.message);
  const left = await findRemains(before, view, patience_ms);
  report.scenes[title] = { outcome, left } satisfies SceneReport;
  if (left.length > 0) before = await takeSteadyPicture(view, STEADY_MS);
}
await close();
report.left = await findRemains(empty, view, patience_ms);
spawnSync('kill', ['-9', ...listDescendants(view.ancestor).map(String)], { stdio: 'ignore' });
process.stdout.write(JSON.stringify(report));
