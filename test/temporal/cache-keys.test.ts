import { syncBuiltinESMExports } from 'node:module';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { nameTo } from '../support/contract/faulty-names.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { says } from '../support/peers/model-server.ts';
import { openaiAt, outOfQuota, providerOf } from '../support/runs/fallbacks.ts';

const OPENAI = 'api.openai.com';

let here: TestInstallation;
let openai: string;
let restoreNames: () => void;
beforeAll(async () => {
  here = await shareInstallation();
  restoreNames = nameTo(OPENAI, () => null);
  // The service imports the function by its name.
  syncBuiltinESMExports();
  openai = here.model.url.replace('127.0.0.1', OPENAI);
});
afterAll(async () => {
  restoreNames?.();
  syncBuiltinESMExports();
  await here?.stop();
});

const workflowAt = async (url: string, fallbacks: object[] = []) => {
  const provider_id = await providerOf(here.alice, openaiAt(url));
  return here.workflow({ agent: { provider_id, model: null, fallbacks } });
};
/** Runs a workflow and returns the key of each request that its model got. */
async function keysOf(workflow_id: string, prompt: string): Promise<unknown[]> {
  const asked = here.model.requests.length;
  await here.ended(await here.prompt(workflow_id, prompt));
  return here.model.requests.slice(asked).map((body) => (body as { prompt_cache_key?: string }).prompt_cache_key);
}

it('all runs of a workflow name the same cache of OpenAI, and another workflow another one', async () => {
  here.model.always(says('Done.'));
  const id = await workflowAt(openai);
  const [key] = await keysOf(id, 'First.');
  expect(key).toMatch(/^[\da-f]{32}$/);
  expect(await keysOf(id, 'Second.')).toEqual([key]);
  const [other] = await keysOf(await workflowAt(openai), 'First.');
  expect(other).toMatch(/^[\da-f]{32}$/);
  expect(other).not.toBe(key);
});

it('no other address is sent a key', async () => {
  here.model.always(says('Done.'));
  expect(await keysOf(await workflowAt(here.model.url), 'First.')).toEqual([undefined]);
});

it('a fallback at another address is sent none, and one at OpenAI that of the workflow', async () => {
  const elsewhere = await providerOf(here.alice, openaiAt(here.model.url));
  const id = await workflowAt(openai, [{ on: ['quota'], provider_id: elsewhere }]);
  here.model.script(outOfQuota, says('Done.'));
  expect(await keysOf(id, 'First.')).toEqual([expect.stringMatching(/^[\da-f]{32}$/), undefined]);
  const at_openai = await providerOf(here.alice, openaiAt(openai));
  const other = await workflowAt(here.model.url, [{ on: ['quota'], provider_id: at_openai }]);
  here.model.script(outOfQuota, says('Done.'));
  expect(await keysOf(other, 'First.')).toEqual([undefined, expect.stringMatching(/^[\da-f]{32}$/)]);
});
