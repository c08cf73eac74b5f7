import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Identity } from '../../src/identity/cached-identity.ts';
import { createFirePorts } from '../../src/main/wiring/runs/index.ts';
import { serve } from '../../src/temporal/activities/fire.ts';
import { type Client, clientOf } from '../support/client.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { startIssuer, type TestIssuer, visitor } from '../support/peers/issuer.ts';
import { fails, hangs, says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

/** What was saved to run later runs for its owner, however the owner signed in. */
let here: TestInstallation;
let issuer: TestIssuer;
/** The access tokens that the identity provider accepts. */
const tokens = new Map<string, Identity>();
const TOKEN_MS = 3_600_000;
const oidc = (subject: string): Identity => ({
  ...{ provider: 'oidc', subject, login: subject },
  valid_until: Date.now() + TOKEN_MS,
});

beforeAll(async () => {
  issuer = await startIssuer();
  const { url: OIDC_ISSUER, client_id: OIDC_CLIENT_ID, client_secret: OIDC_CLIENT_SECRET } = issuer;
  here = await startTestInstallation({
    env: { OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET, OIDC_ROLE_CLAIM: 'roles', RECONCILE_SECONDS: '86400' },
    setting: { public_url: () => here.url, identity_providers: [async (token) => tokens.get(token) ?? null] },
  });
  issuer.register(here.url);
  here.model.always(says('done'));
});
afterAll(async () => {
  await here?.stop();
  await issuer?.stop();
});

const OWN = { 'sec-fetch-site': 'same-origin' };
/** A client with the session of a browser, which `out` ends. */
async function signIn(login: string): Promise<Client & { out(): Promise<void> }> {
  const person = visitor(login);
  await person.go(`${here.url}/auth/login`, (next) => next.startsWith(`${here.url}/dashboard`));
  const headers = { ...OWN, cookie: `perdura-session=${person.jarOf(here.url).get('perdura-session')}` };
  const client = clientOf(here.url, null, headers);
  const out = async () => {
    await fetch(`${here.url}/auth/logout`, { method: 'POST', headers });
    await until('the end of the session', async () => (await client.get('/api/me')).status === 401);
  };
  return { ...client, out };
}
let made = 0;
const tokenOf = (subject: string): string => {
  const token = `token-${++made}-of-${subject}`;
  tokens.set(token, oidc(subject));
  return token;
};
const workflowOf = (client: Client, agent: object = {}) => helpers(client, here.model, `${++made} `).workflow({ agent });

const PATH = '/api/scheduled-agents';
const bodyFor = (workflow_id: string) => ({
  ...{ name: 'later', prompt: 'Report.', interval_value: 1, interval_unit: 'hours', overlap_policy: 'enqueue', workflow_id },
  start_at: new Date(Date.now() + 3_600_000).toISOString(),
});
const saved = async (client: Client, workflow_id: string) => client.ok(client.post(PATH, bodyFor(workflow_id)), 201);
/** Fires a schedule now, as the engine does, and returns the outcome. */
async function fire(id: string): Promise<{ outcome: string; detail: string | null; task_id: string | null }> {
  const due_at = new Date();
  const row = (await here.core.store.scheduledAgents.find(id))!;
  await serve(createFirePorts(here.core, here.driver), row, { due_at, outcome: 'started' });
  const [{ outcome, detail, task_id }] = (await here.core.store.scheduledAgents.firesAt(id, [due_at.getTime()])) as [any];
  return { outcome, detail, task_id };
}
const kept = async (table: string, id: string) =>
  (await here.core.database.pool.query(`SELECT caller_token IS NOT NULL AS is_kept FROM ${table} WHERE id = $1`, [id])).rows[0]
    .is_kept;

describe('a schedule', () => {
  it('that was saved in the dashboard runs after its owner has signed out', async () => {
    const ada = await signIn('ada');
    const { id, warnings } = await saved(ada, await workflowOf(ada));
    expect(warnings).toBeUndefined();
    await ada.out();
    expect(await fire(id)).toMatchObject({ outcome: 'started', detail: null });
    expect(await kept('scheduled_agents', id)).toBe(false);
  });

  it('that was saved with an access token runs after the token has expired, and keeps none', async () => {
    const token = tokenOf('grace');
    const grace = clientOf(here.url, token);
    const { id } = await saved(grace, await workflowOf(grace));
    expect(await kept('scheduled_agents', id)).toBe(false);
    tokens.delete(token);
    const { outcome, task_id } = await fire(id);
    expect(outcome).toBe('started');
    expect(await kept('tasks', task_id!)).toBe(false);
  });

  it('runs with the role that its owner has now: by the settings, and by the last sign-in', async () => {
    const lin = await signIn('lin');
    const { id } = await saved(lin, await workflowOf(lin));
    const viewers = here.setting.config.VIEWER_SUBJECTS;
    viewers.push('oidc:lin');
    const refusal = 'The role of the owner of this schedule does not have the scope run, so it starts no runs';
    expect(await fire(id)).toEqual({ outcome: 'failed', detail: refusal, task_id: null });
    viewers.pop();
    expect(await fire(id)).toMatchObject({ outcome: 'started' });
    issuer.roles.lin = ['viewer'];
    await signIn('lin');
    expect(await fire(id)).toMatchObject({ outcome: 'failed', detail: refusal });
    const token = tokenOf('lin');
    tokens.set(token, { ...oidc('lin'), claimed_role: 'editor' });
    expect((await lin.get(`${PATH}/${id}`)).body.warnings?.[0].message).toBe(refusal);
    await clientOf(here.url, token).get('/api/me');
    await until(
      'the sign-in is recorded',
      async () => (await here.core.store.principals.find('oidc:lin'))?.claimed_role === 'editor',
    );
    expect(await fire(id)).toMatchObject({ outcome: 'started' });
  });

  it('starts nothing for an owner who was removed, or whose provider is not accepted any more', async () => {
    const mae = await signIn('mae');
    const { id } = await saved(mae, await workflowOf(mae));
    here.setting.config.IDENTITY_PROVIDERS.push('github');
    expect(await fire(id)).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('no longer accepts') });
    here.setting.config.IDENTITY_PROVIDERS.pop();
    await here.core.database.prisma.principal.delete({ where: { id: 'oidc:mae' } });
    expect(await fire(id)).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('not known') });
  });

  it('keeps a token for the default runtime only, reports at save until when it works, and afterwards why it does not', async () => {
    const token = tokenOf('kim');
    const kim = clientOf(here.url, token);
    const workflow_id = await workflowOf(kim, { provider_id: null });
    const { id, warnings } = await saved(kim, workflow_id);
    const until_then = new Date(tokens.get(token)!.valid_until!).toISOString();
    expect(warnings).toEqual([{ path: 'workflow_id', message: expect.stringContaining(`expires at ${until_then}`) }]);
    here.model.requests.length = 0;
    const { outcome, task_id } = await fire(id);
    expect(outcome).toBe('started');
    expect(await kept('scheduled_agents', id)).toBe(true);
    await until('the run has ended', async () => (await kim.get(`/api/tasks/${task_id}`)).body.status === 'completed');
    // The dashboard has no token to keep: the one before stays.
    const browser = await signIn('kim');
    const changed = await browser.ok(browser.patch(`${PATH}/${id}`, { name: 'renamed' }));
    expect(changed.warnings[0].message).toContain(`expires at ${until_then}`);
    expect(await fire(id)).toMatchObject({ outcome: 'started' });
    await here.core.store.scheduledAgents.update(id, {}, { access_token: 'one-that-has-expired', service_key_id: null });
    const refused = await fire(id);
    expect(refused).toMatchObject({
      outcome: 'failed',
      detail: expect.stringMatching(/expired or was revoked; save the schedule again/),
    });
    expect((await browser.get(`${PATH}/${id}`)).body.warnings[0].message).toBe(refused.detail);
    const without = await saved(browser, workflow_id);
    expect(without.warnings[0].message).toContain('runs of this schedule will fail');
    expect(await fire(without.id)).toMatchObject({
      outcome: 'failed',
      detail: expect.stringContaining('this schedule has none'),
    });
    const provider_id = (
      await browser.ok(
        browser.post('/api/providers', {
          name: 'of kim',
          provider_type: 'openai_compatible',
          base_url: here.model.url,
          default_model: 'x',
        }),
      )
    ).id;
    const { agent_id } = await browser.ok(browser.get(`/api/workflows/${workflow_id}`));
    await browser.ok(browser.put(`/api/agents/${agent_id}`, { provider_id }));
    expect(await fire(id)).toMatchObject({ outcome: 'started' });
    expect(await kept('scheduled_agents', id)).toBe(false);
  });

  it('reports that a token without an end works until it is revoked', async () => {
    tokens.set('personal', { provider: 'github', subject: '7', login: 'pat' });
    const pat = clientOf(here.url, 'personal');
    const { warnings } = await saved(pat, await workflowOf(pat, { provider_id: null }));
    expect(warnings[0].message).toContain('until the token is revoked');
  });

  it('that a service key saved ends with the key, and says when that is', async () => {
    const max = clientOf(here.url, tokenOf('max'));
    const expires_at = new Date(Date.now() + 86_400_000).toISOString();
    const { key } = await max.ok(max.post('/api/keys', { name: 'ci', expires_at }), 201);
    const ci = clientOf(here.url, key);
    const workflow_id = await workflowOf(max);
    const { id, warnings } = await saved(ci, workflow_id);
    expect(warnings[0].message).toContain(expires_at);
    expect(await kept('scheduled_agents', id)).toBe(false);
    expect(await fire(id)).toMatchObject({ outcome: 'started' });
    await here.core.database.pool.query(
      `UPDATE service_keys SET expires_at = now() - interval '1 second' WHERE owner = 'oidc:max'`,
    );
    expect(await fire(id)).toMatchObject({ outcome: 'failed', detail: expect.stringContaining('has expired or was deleted') });
    await max.ok(max.patch(`${PATH}/${id}`, { name: 'taken over' }));
    expect(await fire(id)).toMatchObject({ outcome: 'started' });
  });
});

describe('an evaluation', () => {
  it('that was started in the dashboard ends after its owner has signed out', async () => {
    const browser = await signIn('eve');
    const evals = openEvaluations({ alice: browser });
    const workflow_id = await workflowOf(browser);
    const run = await evals.begin(await evals.dataset({ a: 'done', b: 'done' }), { workflow_id });
    await browser.out();
    const eve = clientOf(here.url, tokenOf('eve'));
    const { evaluation } = await openEvaluations({ alice: eve }).ended(run);
    expect(evaluation).toMatchObject({ passed: 2, errors: 0 });
  });

  it('starts no runs for an owner whose role does not allow it any more, and gives the reason', async () => {
    const sue = clientOf(here.url, tokenOf('sue'));
    const evals = openEvaluations({ alice: sue });
    const workflow_id = await workflowOf(sue);
    const dataset = await evals.dataset({ a: 'done' });
    const version = await here.core.store.evaluations.version(workflow_id, undefined);
    here.setting.config.VIEWER_SUBJECTS.push('oidc:sue');
    const { id } = await here.core.store.evaluations.create({
      ...{ dataset_id: dataset, workflow_id, version: version!, graders: [{ type: 'exact', ignore_case: false }] },
      ...{ effects: 'stub', parallel: 1, created_by: 'oidc:sue', owner_login: 'sue', access_token: null, service_key_id: null },
    });
    await here.driver.evaluations.start({ id, owner: 'oidc:sue' });
    const { results } = await evals.ended(`/api/datasets/${dataset}/runs/${id}`);
    here.setting.config.VIEWER_SUBJECTS.pop();
    expect(results[0]).toMatchObject({
      status: 'error',
      task_id: expect.any(String),
      error: expect.stringContaining('scope run'),
    });
    expect((await sue.get(`/api/tasks/${results[0]?.task_id}`)).status).toBe(404);
  });

  it('keeps a token only if a run or a judge calls the default runtime, and reports until when it works', async () => {
    const zoe = clientOf(here.url, tokenOf('zoe'));
    const evals = openEvaluations({ alice: zoe });
    const workflow_id = await workflowOf(zoe);
    const dataset = await evals.dataset({ a: 'done' });
    const start = async (body: object) =>
      zoe.ok(evals.order(dataset, { workflow_id, graders: [{ type: 'exact' }], ...body }), 201);
    const own = await start({});
    expect([own.warnings, await kept('evaluations', own.id)]).toEqual([undefined, false]);
    const judge = { type: 'model', instructions: 'Is it right?', provider_id: null };
    const judged = await start({ graders: [judge] });
    expect(judged.warnings[0].message).toContain('expires at');
  });
});

it('a run keeps the token of its caller only if its model is the default runtime’s', async () => {
  const bob = clientOf(here.url, tokenOf('bob'));
  const keeps = async (agent: object) => {
    const workflow_id = await workflowOf(bob, agent);
    const prompt = `Think about ${workflow_id}.`;
    here.model.scriptPrompt(prompt, hangs('thinking'));
    const { task_id } = await bob.ok(bob.post(`/api/workflows/${workflow_id}/prompt`, { prompt }), 201);
    const is_kept = await kept('tasks', task_id);
    await bob.ok(bob.post(`/api/tasks/${task_id}/stop`));
    return is_kept;
  };
  expect([await keeps({}), await keeps({ provider_id: null })]).toEqual([false, true]);
});

it('a run that outlives the token of its caller reports that, and what to do', async () => {
  const sam = clientOf(here.url, tokenOf('sam'));
  const workflow_id = await workflowOf(sam, { provider_id: null });
  const prompt = 'Outlive the token.';
  here.model.scriptPrompt(prompt, fails(401, { message: 'token expired' }));
  const { task_id } = await sam.ok(sam.post(`/api/workflows/${workflow_id}/prompt`, { prompt }), 201);
  await until('the run has ended', async () => (await sam.get(`/api/tasks/${task_id}`)).body.status === 'failed');
  const { error } = (await sam.get(`/api/tasks/${task_id}`)).body;
  expect(error).toMatch(/caller's access token, which may have expired .* give the agent a provider$/);
  expect(error).not.toContain('stored key');
});
