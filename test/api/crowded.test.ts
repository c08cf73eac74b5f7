import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Reply } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ worker: false, env: { DATABASE_POOL_SIZE: '2' } });
});
afterAll(() => here.stop());

/** More than may wait to be started. */
const AT_ONCE = 800;

interface Refusal {
  status: number;
  code: string | undefined;
  wait: number;
}

/** The code is part of the problem, or of OpenAI's error. */
const refusalOf = ({ status, headers, body }: Reply): Refusal => ({
  status,
  code: body.code ?? body.error?.code,
  wait: Number(headers.get('retry-after')),
});

it('accepts prompts or refuses them at once, with a code and the time to try again; none runs into a time limit', async () => {
  const { alice } = here;
  const { agent_id } = await alice.ok(alice.get(`/api/workflows/${await here.workflow()}`));
  const made: string[] = [];
  for (let at = 0; at < AT_ONCE; at += 20)
    made.push(
      ...(await Promise.all(
        Array.from({ length: 20 }, async () => (await alice.ok(alice.post('/api/workflows', { agent_id }))).id as string),
      )),
    );
  const replies = await Promise.all([
    ...made.map((id) => alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' })),
    ...made.slice(0, 20).map((model) => alice.post('/v1/responses', { model, input: 'x', background: true })),
  ]);
  const refused = replies.filter(({ status }) => status >= 300).map(refusalOf);
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.length).toBeLessThan(replies.length);
  for (const refusal of refused) expect(refusal).toEqual({ status: 503, code: 'too_many_waiting', wait: 2 });
  const [again] = made.slice(-1);
  expect((await alice.post(`/api/workflows/${again}/prompt`, { prompt: 'x', on_busy: 'enqueue' })).status).toBe(201);
}, 120_000);
