import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { perdura } from '../support/machine/processes.ts';
import { answerByPrompt, openEvaluations } from '../support/runs/evaluations.ts';

let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-eval-'));
  here = await startTestInstallation();
});
afterAll(async () => {
  await here.stop();
  await rm(folder, { recursive: true, force: true });
});

async function evaluate(...args: string[]) {
  const child = perdura('eval', { PERDURA_API_URL: here.url, PERDURA_API_TOKEN: ALICE }, args);
  const [code] = (await child.closed) as [number];
  return { code, output: child.output() };
}

it('shows CI by its exit code whether enough items pass and none regressed, and names those that do not', async () => {
  const dataset = await openEvaluations(here).dataset({ France: 'Paris', Spain: 'Madrid' });
  const workflow = await here.workflow({ workflow: { output_format: 'markdown' } });
  const asked = ['--dataset', dataset, '--workflow', workflow];
  here.model.always(answerByPrompt({ France: 'Paris', Spain: 'Lisbon' }));
  const failing = await evaluate(...asked);
  expect(failing.code).toBe(1);
  expect(failing.output).toMatch(/failed\s+"Spain"\s+run [0-9a-f-]{36}: exact: The answer is not the expected one/);
  expect(failing.output).toContain('completed: 1 of 2 passed, 1 failed, 0 not graded, 0 regressed');
  expect((await evaluate(...asked, '--pass-rate', '0.5')).code).toBe(0);
  here.model.always(answerByPrompt({ France: 'Lyon', Spain: 'Madrid' }));
  const regressed = await evaluate(...asked, '--pass-rate', '0.5');
  expect(regressed.code).toBe(1);
  expect(regressed.output).toMatch(/REGRESSED\s+"France"/);
  const file = join(folder, 'graders.json');
  await writeFile(file, JSON.stringify([{ type: 'regex', pattern: 'Lyon|Madrid' }]));
  const passing = await evaluate(...asked, '--graders', file, '--effects', 'stub', '--parallel', '1', '--json');
  expect([passing.code, JSON.parse(passing.output)]).toMatchObject([0, { status: 'completed', passed: 2, results: [{}, {}] }]);
  const source_code = 'def names_a_city(answer: str) -> str:\n    return answer\n';
  const tool = await here.alice.ok(here.alice.post('/api/custom-tools', { name: 'names_a_city', source_code }), 201);
  await writeFile(file, JSON.stringify([{ type: 'python', tool_id: tool.id }]));
  const ungraded = await evaluate(...asked, '--graders', file);
  expect(ungraded.code).toBe(1);
  expect(ungraded.output).toContain('0 of 2 passed, 0 failed, 2 not graded');
  expect(ungraded.output).toMatch(/"France" {2}run [0-9a-f-]{36}: Grader 1 \(python\): The tool should return true, false/);
}, 90_000);

it('ends with 2, the reason and the next step if it cannot run', async () => {
  const workflow = await here.workflow();
  expect(await evaluate('--workflow', workflow)).toMatchObject({ code: 2, output: expect.stringContaining('--dataset <id>') });
  const unknown = await evaluate('--dataset', '01900000-0000-7000-8000-000000000000', '--workflow', workflow);
  expect(unknown).toMatchObject({ code: 2, output: expect.stringContaining('No dataset with id') });
  expect((await evaluate('--dataset', 'x', '--workflow', workflow, '--pass-rate', '2')).code).toBe(2);
}, 60_000);
