import { createInterface } from 'node:readline/promises';
import type { Config } from '../config.ts';
import { applySteps } from '../declared/apply-steps.ts';
import { ownIds, readWorld } from '../declared/installed.ts';
import { buildPlan } from '../declared/plan.ts';
import { readDeclared } from '../declared/read.ts';
import { planJson, planText } from '../declared/show.ts';
import { parseCommand, UsageError, usageError } from '../remote/options.ts';
import { remoteClient } from '../remote/place.ts';
import { say, sayJson } from '../terminal.ts';

/** The exit code of a dry run that found changes to make. */
const WOULD_CHANGE = 3;

/**
 * `perdura apply -f <file>`: shows the differences and applies them. `--prune` also deletes what is yours but not declared; it
 * asks first.
 */
export default async function apply(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('apply', args);
  const files = given.texts('file');
  if (files.length === 0) throw usageError('apply', 'Name a file or folder: -f agents.yaml');
  const declared_items = await readDeclared(files);
  const client = await remoteClient(config);
  const world = await readWorld(client, declared_items);
  const kinds = [...new Set(declared_items.map(({ kind }) => kind))];
  const plan = buildPlan(declared_items, world, given.has('prune') ? await ownIds(client, kinds) : new Set());
  const dry = given.has('dry-run');
  if (!given.has('json')) say(planText(plan));
  const deletes = plan.steps.some(({ action }) => action === 'delete');
  if (!dry && deletes && !given.has('yes') && !(await confirmChanges())) throw new Error('Nothing was changed');
  if (!dry) await applySteps(client, plan.steps, world);
  if (given.has('json')) sayJson({ ...planJson(plan), applied: !dry });
  if (dry && plan.steps.length > 0) process.exitCode = WOULD_CHANGE;
}

async function confirmChanges(): Promise<boolean> {
  if (!process.stdin.isTTY)
    throw new UsageError('Nothing was changed: --prune asks before it deletes; add --yes where nobody can answer');
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test(await lines.question('Delete and change this? [y/N] '));
  } finally {
    lines.close();
  }
}
