import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { textWithReason } from '../domain/reason.ts';
import type { Log } from './files.ts';
import { run } from './processes.ts';
import { ARCHIVE_SUMS, computeSha256, MODULE, MODULE_SUM, TEMPORAL_VERSION } from './temporal-pins.ts';

export const OFFICIAL_RELEASES = 'https://github.com/temporalio/cli/releases/download';
const SILENCE_MS = 8_000;
const PROGRESS_MS = 15_000;

export interface Download {
  releases: string;
  draft: string;
  log: Log;
  sums?: Readonly<Record<string, string>>;
}

/** Downloads the official build into a directory and checks it. Gives up soon on a host that does not answer or falls silent. */
export async function downloadTemporal({ releases, draft, log, sums = ARCHIVE_SUMS }: Download): Promise<string> {
  const name = `temporal_cli_${TEMPORAL_VERSION}_${process.platform}_${process.arch === 'x64' ? 'amd64' : process.arch}.tar.gz`;
  const archive = join(draft, name);
  log(`Downloading Temporal ${TEMPORAL_VERSION}; this is needed once`);
  try {
    const expected = sums[name];
    if (!expected) throw new Error(`there is no pinned checksum of ${name}`);
    const reportProgress = throttleReports(log, (bytes) => `Downloading Temporal: ${Math.round(bytes / 1e6)} MB so far`);
    await fetchFile(`${releases}/v${TEMPORAL_VERSION}/${name}`, archive, reportProgress);
    const checksum = await computeSha256(archive);
    if (checksum !== expected) throw new Error(`its checksum is ${checksum} and should be ${expected}`);
    const { code, output } = await run('tar', ['-xzf', archive, '-C', draft, 'temporal']);
    if (code !== 0) throw new Error(`it cannot be unpacked: ${output.trim()}`);
  } catch (error) {
    throw new Error(`Temporal could not be downloaded: ${textWithReason(error as Error)}`);
  }
  return join(draft, 'temporal');
}

/** Saves the content of an address to a file. Silence counts as a failure, slowness does not. */
async function fetchFile(url: string, file: string, onProgress: (bytes: number) => void): Promise<void> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(new Error(`${new URL(url).host} does not answer`)), SILENCE_MS);
  const handle = await open(file, 'w');
  try {
    const response = await fetch(url, { signal: silence.signal });
    if (!response.ok || !response.body) throw new Error(`${url} answered ${response.status}`);
    let bytes = 0;
    for await (const chunk of response.body) {
      timer.refresh();
      await handle.writeFile(chunk);
      bytes += chunk.length;
      onProgress(bytes);
    }
  } finally {
    clearTimeout(timer);
    await handle.close();
  }
}

/** Builds Temporal from source into a directory; the first build takes minutes. */
export async function buildTemporal(options: { go: string; draft: string; log: Log }): Promise<string> {
  const { go, draft, log } = options;
  log(`Building Temporal ${TEMPORAL_VERSION} from source with Go; this takes a few minutes, and is needed once`);
  const source = await fetchVerifiedSource(go);
  const executable = join(draft, 'temporal');
  const flags = [
    '-v',
    '-mod=readonly',
    '-o',
    executable,
    '-ldflags',
    `-s -w -X ${MODULE}/temporalcli.Version=${TEMPORAL_VERSION}`,
  ];
  // The build runs in the module's own folder, so that the dependencies are checked against the go.sum there. It runs through
  // env(1), which adds to the environment that Go needs (its proxies and caches) instead of replacing it.
  const child = spawn('env', ['GOFLAGS=', 'CGO_ENABLED=0', go, 'build', '-C', source, ...flags, './cmd/temporal'], {
    cwd: draft,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exit = new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  const lines: string[] = [];
  const report = throttleReports(log, (count) => `Building Temporal: ${count} packages so far`);
  createInterface({ input: child.stderr }).on('line', (line) => report(lines.push(line)));
  const code = await exit;
  if (code !== 0) throw new Error(`Temporal could not be built: go ended with code ${code}\n${lines.slice(-15).join('\n')}`);
  return executable;
}

/** Returns the folder of the module's source, fetched through Go and compared with the pinned sum. */
async function fetchVerifiedSource(go: string): Promise<string> {
  const { code, output } = await run('env', [
    'GOFLAGS=-mod=mod',
    go,
    'mod',
    'download',
    '-json',
    `${MODULE}@v${TEMPORAL_VERSION}`,
  ]);
  if (code === 127) throw new Error('Temporal could not be built: Go is not installed');
  const answer = output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1) || '{}';
  const module_info: { Dir?: string; Sum?: string } = code === 0 ? JSON.parse(answer) : {};
  if (!module_info.Dir) throw new Error(`Temporal could not be built: its source cannot be had: ${output.trim().slice(-500)}`);
  if (module_info.Sum !== MODULE_SUM)
    throw new Error(`Temporal could not be built: the sum of its source is ${module_info.Sum} and should be ${MODULE_SUM}`);
  return module_info.Dir;
}

/** Reports progress, but only at intervals. */
function throttleReports(log: Log, say: (amount: number) => string): (amount: number) => void {
  let next = performance.now() + PROGRESS_MS;
  return (amount) => {
    if (performance.now() < next) return;
    next = performance.now() + PROGRESS_MS;
    log(say(amount));
  };
}
