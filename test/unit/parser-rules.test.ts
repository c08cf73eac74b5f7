import { expect, it } from 'vitest';
import { createJudge } from '../../src/guardrails/judge.ts';
import { fileReader } from '../../src/knowledge/extract.ts';
import { argumentFitter, pageReader, schemaJudge } from '../../src/main/wiring/parsers.ts';
import type { JobRules } from '../../src/parsers/pool.ts';

/** A pool that notes the rules of each job, and refuses it. */
function notingPool() {
  const noted: ({ job: string } & JobRules)[] = [];
  const run = async (job: string, _input: unknown, rules: JobRules) => {
    noted.push({ job, ...rules });
    throw new Error('noted');
  };
  return { noted, pool: { run, close: async () => {} } as never };
}
type Pool = ReturnType<typeof notingPool>['pool'];

const CONFIG = { JUDGE_SECONDS: 3, READ_SECONDS: 5 } as never;
const judgeOf = (pool: Pool) => createJudge(pool, { deadline_ms: 3_000, patience_ms: 7_000 });
const services = (parsers: Pool) => ({ parsers, setting: { config: CONFIG } }) as never;
const guardrail = (guardrail_type: string) => ({ name: 'g', guardrail_type, config: {} }) as never;
const read = (pool: Pool, filename: string, owner: string) =>
  fileReader(pool, { deadline_ms: 5_000, patience_ms: 11_000 })({ filename, content: Buffer.from('x'), owner });

const DOCUMENT = { job: 'document', deadline_ms: 5_000, patience_ms: 11_000, slow: true, once: true };
/** A run waits for a process for as long as it takes, and a request to the API does not. */
const OF_RUNS = { deadline_ms: 3_000 };
const OF_REQUESTS = { deadline_ms: 3_000, patience_ms: 7_000 };

/** Each way in which a text of somebody reaches the parsers, with the rules of the job. */
const JOBS: Record<string, [order: (pool: Pool, owner: string) => Promise<unknown>, rules: object]> = {
  'a text file': [(pool, owner) => read(pool, 'a.txt', owner), DOCUMENT],
  'a PDF': [(pool, owner) => read(pool, 'a.pdf', owner), DOCUMENT],
  'a Word file': [(pool, owner) => read(pool, 'a.docx', owner), DOCUMENT],
  'a JSON file': [(pool, owner) => read(pool, 'a.json', owner), DOCUMENT],
  'a page': [(pool, owner) => pageReader(services(pool))('<p>', owner), { job: 'page', deadline_ms: 5_000, slow: true }],
  'arguments of a call': [
    (pool, owner) =>
      argumentFitter(services(pool))({ name: 'f', parameters: { type: 'object' } }, { arguments: {}, run: { owner } } as never),
    { job: 'arguments', ...OF_RUNS },
  ],
  'a prompt': [(pool, owner) => judgeOf(pool).findRefusal([guardrail('prompt')], 'x', owner), { job: 'prompt', ...OF_REQUESTS }],
  'a request': [
    (pool, owner) => judgeOf(pool).findRefusal([guardrail('request')], 'x', owner),
    { job: 'request', ...OF_REQUESTS },
  ],
  'an answer': [(pool, owner) => judgeOf(pool).judgeAnswer([guardrail('output')], 'x', { owner }), { job: 'answer', ...OF_RUNS }],
  'the output of a run': [(pool, owner) => judgeOf(pool).listOutputErrors({}, 'x', owner), { job: 'output', ...OF_RUNS }],
  'a guardrail': [(pool, owner) => judgeOf(pool).listConfigFaults({} as never, owner), { job: 'config', ...OF_REQUESTS }],
  'an output schema': [(pool, owner) => judgeOf(pool).findSchemaError({}, owner), { job: 'outputSchema', ...OF_REQUESTS }],
};

it.each(Object.keys(JOBS))('%s is parsed for the person whose it is, within its time, by the rules of its kind', async (what) => {
  const [order, rules] = JOBS[what]!;
  const { pool, noted } = notingPool();
  for (const owner of ['local:alice', 'local:bob']) await order(pool, owner).catch(() => {});
  expect(noted).toEqual(['local:alice', 'local:bob'].map((owner) => ({ owner, ...rules })));
});

it('schemas of an MCP server are checked together, then each alone in half the time, for nobody', async () => {
  const { pool, noted } = notingPool();
  await schemaJudge(pool, CONFIG)([{ type: 'object' }, { type: 'object', title: 'longer' }]);
  const of = (deadline_ms: number) => ({ job: 'schemas', owner: 'mcp', deadline_ms });
  expect(noted).toEqual([of(3_000), of(1_500), of(1_500)]);
});

it('schemas that cannot be checked together are checked alone, the smallest first, until too many cannot be checked', async () => {
  const judged: unknown[][] = [];
  const run = async (_: string, schemas: unknown[]) => {
    judged.push(schemas);
    if (schemas.length > 1 || 'bad' in (schemas[0] as object)) throw new Error('It takes too long');
    return [null];
  };
  const findFaults = schemaJudge({ run } as never, { JUDGE_SECONDS: 2 } as never);
  const bad = Array.from({ length: 4 }, (_, at) => ({ bad: 'x'.repeat(at + 1) }));
  const faults = await findFaults([{ good: 'x'.repeat(99) }, ...bad]);
  const failed = faults.filter((fault) => fault === 'it could not be checked: It takes too long').length;
  expect(faults[0]).toBe(`it was not checked, since ${failed} smaller schemas of this server could not be checked`);
  expect(judged.slice(1, 3)).toEqual([[bad[0]], [bad[1]]]);
  expect(await findFaults([{ good: 'x' }, { bad: 'y' }])).toEqual([null, 'it could not be checked: It takes too long']);
});
