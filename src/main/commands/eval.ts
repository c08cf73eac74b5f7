import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { type Evaluation, EvaluationCreate, type EvaluationDetail, type EvaluationResult } from '../../contracts/evaluations.ts';
import { sentenceOfError } from '../../domain/reason.ts';
import { apiClient, type Call } from '../api-client.ts';
import type { Config } from '../config.ts';
import { type Given, parseCommand, usageError } from '../remote/options.ts';
import { remotePlace } from '../remote/place.ts';
import { note, say, sayJson } from '../terminal.ts';

type Options = { [name in 'workflow' | 'version' | 'graders' | 'effects' | 'parallel' | 'baseline']: string | undefined };

const EVERY_MS = 1_000;

/** `perdura eval`: exits with 0 if enough items pass and none regressed, 1 if not, 2 if the evaluation could not finish. */
export default async function runEvaluation(config: Config, args: string[]): Promise<void> {
  const given = parseCommand('eval', args);
  const enough = Number(given.text('pass-rate') ?? 1);
  if (!(enough >= 0 && enough <= 1)) throw usageError('eval', '--pass-rate must be a number from 0 to 1');
  for (const name of ['dataset', 'workflow']) if (!given.text(name)) throw usageError('eval', `Name the ${name}: --${name} <id>`);
  process.exitCode = await evaluate(config, given, enough).catch((error: Error) => {
    note(`perdura eval: ${error.message}`);
    return 2;
  });
}

async function evaluate(config: Config, given: Given, enough: number): Promise<0 | 1 | 2> {
  const call = await openApiClient(config);
  const path = `/api/datasets/${given.text('dataset')}/runs`;
  const { id } = await call<Evaluation>('POST', path, await buildOrder(readOptions(given)));
  if (!given.has('json')) say(`evaluation ${id}`);
  const ended = await waitForEnd(call, `${path}/${id}`);
  const results = await call<EvaluationResult[]>('GET', `${path}/${id}/results`);
  if (given.has('json')) sayJson({ ...ended, results });
  else report(results, ended);
  if (ended.pass_rate === null) return 2;
  return ended.pass_rate >= enough && ended.regressions.length === 0 ? 0 : 1;
}

const readOptions = (given: Given): Options => ({
  workflow: given.text('workflow'),
  version: given.text('version'),
  graders: given.text('graders'),
  effects: given.text('effects'),
  parallel: given.text('parallel'),
  baseline: given.text('baseline'),
});

async function openApiClient(config: Config): Promise<Call> {
  const { url, token } = await remotePlace(config);
  return apiClient(url.replace(/\/$/, ''), token);
}

async function buildOrder({ workflow, version, graders, effects, parallel, baseline }: Options): Promise<object> {
  return {
    workflow_id: workflow,
    graders: graders ? parseGraders(await readFile(graders, 'utf8'), graders) : [{ type: 'exact' }],
    ...(version ? { definition_hash: version } : {}),
    ...(effects ? { effects } : {}),
    ...(parallel ? { parallel: Number(parallel) } : {}),
    ...(baseline ? { baseline_id: baseline } : {}),
  };
}

const GRADERS_WANTED = 'write a list of graders, such as [{"type": "exact"}]';

/** Parses a list of graders; throws a sentence that names the file if the text is not one. */
export function parseGraders(text: string, file: string): unknown {
  const { success, error } = EvaluationCreate.shape.graders.safeParse(parseJsonFile(text, file));
  if (!success) throw new Error(`${file} is not valid: ${sentenceOfError(error)}; ${GRADERS_WANTED}`);
  return JSON.parse(text);
}

function parseJsonFile(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${file} is not valid JSON; ${GRADERS_WANTED}`);
  }
}

async function waitForEnd(call: Call, path: string): Promise<EvaluationDetail> {
  for (;;) {
    const detail = await call<EvaluationDetail>('GET', path);
    if (detail.status !== 'running') return detail;
    await wait(EVERY_MS);
  }
}

function report(results: EvaluationResult[], { regressions, ...evaluation }: EvaluationDetail): void {
  const regressed = new Set(regressions.map(({ item_id }) => item_id));
  for (const { item_id, status, prompt, task_id, grades, error } of results) {
    if (status === 'passed') continue;
    const why = error ?? grades.flatMap(({ grader, reason }) => (reason === null ? [] : [`${grader}: ${reason}`])).join('; ');
    say(
      `${regressed.has(item_id) ? 'REGRESSED' : status.padEnd(9)}  ${excerpt(prompt)}  run ${task_id ?? 'none'}: ${why || status}`,
    );
  }
  const { status, passed, failed, errors, items, definition_hash } = evaluation;
  say(`${status}: ${passed} of ${items} passed, ${failed} failed, ${errors} not graded, ${regressed.size} regressed`);
  say(`version ${definition_hash}`);
}

const LONGEST = 80;
const excerpt = (text: string) => JSON.stringify(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
