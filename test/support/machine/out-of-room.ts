import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { rebuildTexts } from '../client.ts';
import type { TestInstallation } from '../installation.ts';
import { says } from '../peers/model-server.ts';
import { until } from '../until.ts';

const FULL_MS = 6_000;

/** A resource that an installation can run out of. */
export interface Room {
  code: string;
  detail: RegExp;
  take(): Promise<unknown>;
  giveBack(): Promise<unknown>;
}

/** More text than fits into the database's free pages. */
const LONG = Array.from({ length: 2_000 }, () => randomBytes(24).toString('hex')).join(' ');

/** Checks that a run in progress when space runs out ends normally later, and that nothing new starts in the meantime. */
export async function holdsRuns(here: TestInstallation, { code, detail, take, giveBack }: Room): Promise<void> {
  const [workflow_id, other] = [await here.workflow(), await here.workflow()];
  const text = `One two three four five six. ${LONG}`;
  here.model.script(says(text, { pause_ms: 1 }), says(text));
  const task_id = await here.prompt(workflow_id);
  const stream = `/api/workflows/${workflow_id}/stream?task_id=${task_id}`;
  await here.alice.events(stream, { enough: ({ type }) => type === 'message_delta' });
  await take();
  // Broken connections are detected one by one, and each causes a 503 with its own code.
  await until(`a refusal ${code}`, async () => {
    const answer = await here.alice.post(`/api/workflows/${other}/prompt`, { prompt: LONG });
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    return answer.body.code === code;
  });
  const skill = await here.alice.post('/api/skills', { name: code, instructions: LONG });
  expect([skill.status, skill.body.code]).toEqual([503, code]);
  const ready = await here.anonymous.get('/health/ready');
  expect([ready.status, ready.body.checks.database]).toEqual([503, { ok: false, detail: expect.stringMatching(detail) }]);
  await wait(FULL_MS);
  const asked = here.model.requests.length;
  expect(asked).toBe(1);
  await giveBack();
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: text });
  expect(here.model.requests.length).toBe(asked);
  expect(rebuildTexts(await here.alice.events(stream))).toEqual({ texts: [text], unfinished: '' });
  expect(await here.alice.ok(here.alice.get(`/api/workflows/${other}`))).toMatchObject({ task_count: 0 });
  await until('the installation is ready again', async () => (await here.anonymous.get('/health/ready')).status === 200);
}
