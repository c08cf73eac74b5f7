import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDemoModel } from '../../src/embedded/demo-model.ts';
import { ALICE, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startGitServer } from '../support/peers/git-server.ts';

const EXAMPLES = new URL('../../examples/', import.meta.url).pathname;

/** The output of each example if it works as its first line states. */
const SHOWS: Record<string, RegExp> = {
  'research-over-mcp.mjs': /tool_call: search_papers[\s\S]*completed: .*Chandy and Lamport/,
  'review-checkout.mjs': /repo_synced[\s\S]*completed: .*README\.md/,
  'scheduled-report.mjs': /webhook [\w-]+: completed/,
  'approval-gated-writer.mjs': /approving write with [\s\S]*notes\.md[\s\S]*tool_result: write[\s\S]*completed: /,
  'chat-with-knowledge.mjs': /\[handbook\.md\][\s\S]*session [0-9a-f-]{36}/,
};

let here: TestInstallation;
let model: Awaited<ReturnType<typeof startDemoModel>>;
let repository: Awaited<ReturnType<typeof startGitServer>>;
beforeAll(async () => {
  repository = await startGitServer();
  model = await startDemoModel({ token_delay_ms: 0 });
  here = await startTestInstallation({ env: { REPO_CA_FILE: repository.ca_file } });
});
afterAll(async () => {
  await here?.stop();
  await model?.stop();
  await repository?.stop();
});

it('knows the output of every example', () => {
  const scripts = readdirSync(EXAMPLES).filter((name) => name.endsWith('.mjs') && name !== 'perdura.mjs');
  expect(scripts.sort()).toEqual(Object.keys(SHOWS).sort());
});

for (const [script, shown] of Object.entries(SHOWS))
  it(`${script} works as described, twice in a row`, async () => {
    for (let round = 1; round <= 2; round += 1) {
      const { code, output } = await ran(script);
      expect(code, output).toBe(0);
      expect(output).toMatch(shown);
    }
  });

async function ran(script: string): Promise<{ code: number | null; output: string }> {
  const env = {
    PATH: process.env.PATH,
    PERDURA_URL: here.url,
    PERDURA_TOKEN: ALICE,
    DEMO_MODEL_URL: model.url,
    REPO_URL: repository.url,
  };
  const child = spawn(process.execPath, [`${EXAMPLES}${script}`], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = new Promise<number | null>((done) => child.once('exit', done));
  const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await exit, output: out + errors };
}
