import { readFile } from 'node:fs/promises';
import { RunBundle } from '../../contracts/run-bundles.ts';
import type { Difference } from '../../replay/difference.ts';
import { type ReplayPorts, replay } from '../../replay/replay.ts';
import type { Config } from '../config.ts';
import { parseCommand } from '../remote/options.ts';
import { createResources } from '../resources.ts';
import { note, print, say } from '../terminal.ts';
import { createOutputGuards } from '../wiring/guardrails.ts';
import { openParsers } from '../wiring/index.ts';

/**
 * `perdura replay bundle.json …`: exits with 0 if each run is replayed as recorded, 1 if one differs, 2 if a file is not a
 * bundle.
 */
export default async function runReplay(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('replay', args);
  let code = 0;
  const resources = createResources((error) => note((error as Error).message));
  const guards = createOutputGuards(openParsers(config, resources).judge);
  try {
    for (const file of given.words) code = Math.max(code, await replayFile(file, guards, given.has('json')));
  } finally {
    await resources.close();
  }
  process.exitCode = code;
}

async function replayFile(file: string, guards: ReplayPorts, json: boolean): Promise<0 | 1 | 2> {
  const bundle = await readBundle(file).catch((error: Error) => error);
  if (bundle instanceof Error) {
    note(`${file}: ${bundle.message}`);
    return 2;
  }
  const { difference, steps, calls } = await replay(bundle, guards);
  if (json) {
    say(JSON.stringify({ file, same: !difference, steps, calls, difference: difference ?? null }));
    return difference ? 1 : 0;
  }
  if (!difference) {
    say(`same       ${file}: ${steps} steps, ${calls} tool calls, ${bundle.end.status}`);
    return 0;
  }
  print(`DIFFERENT  ${file}: step ${difference.step}: ${difference.what}\n${sides(difference)}`);
  return 1;
}

async function readBundle(file: string): Promise<RunBundle> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'No such file' : error.message);
  });
  return parseRunBundle(text);
}

/** Parses the bundle of a run; throws a sentence if the text is not one. */
export function parseRunBundle(text: string): RunBundle {
  const value = parseJson(text);
  const { format, version } = (value ?? {}) as { format?: unknown; version?: unknown };
  if (format !== 'perdura-run') throw new Error('Not a bundle of a run; download one with GET /api/tasks/{id}/bundle');
  if (version !== 1) throw new Error(`Bundle of version ${JSON.stringify(version) ?? 'unknown'}; this Perdura reads version 1`);
  const { data, error } = RunBundle.safeParse(value);
  if (data) return data;
  const { path, message } = error.issues[0]!;
  throw new Error(`Damaged bundle: ${path.join('.')}: ${message}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('Not valid JSON; download the bundle again with GET /api/tasks/{id}/bundle');
  }
}

const LONGEST = 600;
const excerpt = (value: unknown) => {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} … (${text.length} characters)` : text;
};
const sides = ({ recorded, replayed }: Difference) => `  recorded: ${excerpt(recorded)}\n  replayed: ${excerpt(replayed)}\n`;
