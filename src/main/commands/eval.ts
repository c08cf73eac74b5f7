import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Evaluation, EvaluationCreate, type EvaluationDetail, type EvaluationResult } from '../../contracts/evaluations.ts';
import { sentenceOfError } from '../../domain/reason.ts';
import { apiClient, type Call } from '../api-client.ts';
import type { Config } from '../config.ts';
import { JSON_OPTION } from '../remote/options.ts';
import { remotePlace } from '../remote/place.ts';
import { note, say, sayJson } from '../terminal.ts';

const USAGE = `perdura eval --dataset <id> --workflow <id>
  --version <hash>    a version of the workflow (definition_hash of one of its runs); by default the workflow as it is now
  --graders <file>    a JSON list of graders; by default the answer must equal the item's expected one
  --effects <how>     recorded (default) or stub
  --parallel <n>      runs at once; by default 4
  --baseline <id>     the evaluation to find regressions against; by default the last completed one of the workflow
  --pass-rate <rate>  of 0 to 1, that is enough; by default 1
  --json              print the evaluation with all results as JSON

It uses the API at PERDURA_API_URL with the access token in PERDURA_API_TOKEN, else that of perdura login, else the installation of npm
start that runs here.
`;

const TEXT = { type: 'string' } as const;
const OPTIONS = {
  dataset: TEXT,
  workflow: TEXT,
  version: TEXT,
  graders: TEXT,
  effects: TEXT,
  parallel: TEXT,
  baseline: TEXT,
  'pass-rate': TEXT,
  ...JSON_OPTION,
};
type Options = { [name in Exclude<keyof typeof OPTIONS, 'json'>]?: string } & { json?: boolean };

const EVERY_MS = 1_000;

/** `perdura eval`: exits with 0 if enough items pass and none regressed, 1 if not, 2 if the evaluation could not finish. */
export default async function runEvaluation(config: Config, args: string[]): Promise<void> {
  process.exitCode = await evaluate(config, args).catch((error: Error) => {
    note(`perdura eval: ${error.message}`);
    return 2;
  });
}

async function evaluate(config: Config, args: string[]): Promise<0 | 1 | 2> {
  const options: Options = parseArgs({ args, options: OPTIONS }).values;
  const enough = Number(options['pass-rate'] ?? 1);
  if (!(enough >= 0 && enough <= 1)) throw new Error('--pass-rate must be a number from 0 to 1');
  if (!options.dataset || !options.workflow) throw new Error(`Name the dataset and the workflow\n\n${USAGE}`);
  const call = await openApiClient(config);
  const path = `/api/datasets/${options.dataset}/runs`;
  const { id } = await call<Evaluation>('POST', path, await buildOrder(options));
  if (!options.json) say(`evaluation ${id}`);
  const ended = await waitForEnd(call, `${path}/${id}`);
  const results = await call<EvaluationResult[]>('GET', `${path}/${id}/results`);
  if (options.json) sayJson({ ...ended, results });
  else report(results, ended);
  if (ended.pass_rate === null) return 2;
  return ended.pass_rate >= enough && ended.regressions.length === 0 ? 0 : 1;
}

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
