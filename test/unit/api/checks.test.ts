import { describe, expect, it } from 'vitest';
import { listGuardErrors } from '../../../src/api/checks/agent-guards.ts';
import { chooseRunCredentials } from '../../../src/api/checks/later-starts.ts';
import { refuseUnpermitted } from '../../../src/api/checks/permission.ts';
import { listBuiltinErrors } from '../../../src/api/routes/agents.ts';
import { listGraderWarnings } from '../../../src/api/routes/graders.ts';
import type { Caller } from '../../../src/identity/caller.ts';

const ANN = { provider: 'local', subject: 'ann', login: 'ann', key: 'local:ann', role: 'viewer', scopes: ['read'] };
const caller = (more: object = {}) => ({ ...ANN, access_token: 'own', ...more }) as unknown as Caller;

describe('a name of a tool that an agent does not have', () => {
  it('is refused with the name that was probably meant, or with all of them', () => {
    const errors = listBuiltinErrors({ builtin_tools: ['web_serch', 'zzzzzzzz'] });
    expect(errors.map(({ path }) => path)).toEqual(['builtin_tools.0', 'builtin_tools.1']);
    expect(errors[0]?.message).toMatch(/`web_serch`; did you mean `web_search`\?$/);
    expect(errors[1]?.message).toMatch(/`zzzzzzzz`; there are \w+, \w+.*\bweb_search\b/);
  });

  it.each([
    [[], '; it has no tools'],
    [['search', 'read'], '; its tools are search, read'],
    [['serach'], '; did you mean `serach`?'],
    [
      Array.from({ length: 23 }, (_, at) => `tool_${at}`),
      `; its tools are ${Array.from({ length: 20 }, (_, at) => `tool_${at}`).join(', ')} and 3 others`,
    ],
  ])('guards none of %j', async (tool_names, hint) => {
    const judgeGuards = async () => ({ new_unmatched_names: ['seraches'], tool_names, unlisted_sources: [] });
    const agent = { approval_tools: ['x', 'seraches'] };
    expect(await listGuardErrors({ agents: { judgeGuards } } as never, agent, 'local:ann')).toEqual([
      { path: 'approval_tools.1', message: `No tool of this agent is named \`seraches\`${hint}` },
    ]);
  });
});

it('a grader whose tool was deleted names no token', async () => {
  const tools: Record<string, object> = { kept: { env_config: { KEY: { token_name: 'mine' } } } };
  const store = { customTools: { find: async (id: string) => tools[id] ?? null }, tokens: { listNames: async () => [] } };
  const graders = ['kept', 'deleted'].map((tool_id) => ({ type: 'python', tool_id }));
  expect(await listGraderWarnings(store as never, graders as never, caller())).toMatchObject([{ path: 'graders.0.tool_id' }]);
});

describe('the token that is stored with a schedule', () => {
  const people: Record<string, object> = { own: ANN, kept: { ...ANN, valid_until: 0 }, other: { ...ANN, subject: 'bob' } };
  const browser = { browser_session: true, access_token: 'session' };
  it.each<[string, object, { kept_before?: string; uses_token?: boolean }, string | null, RegExp[]]>([
    ['that of the request', {}, {}, 'own', [/Yours is kept with the schedule, which starts runs until the token is revoked/]],
    [
      'that of the request until it ends',
      { valid_until: 0 },
      {},
      'own',
      [/Yours is kept .* expires at 1970-01-01T00:00:00.000Z/],
    ],
    ['none if no run needs it', {}, { uses_token: false }, null, []],
    ['none of a service key', { service_key: { id: 'k' } }, {}, null, [/never called with a service key/]],
    [
      'none of a service key that ends',
      { service_key: { id: 'k', expires_at: new Date(0) } },
      {},
      null,
      [/starts runs until 1970-01-01T00:00:00.000Z$/, /never called with a service key/],
    ],
    ['none of a browser', browser, {}, null, [/never called with the sign-in of a browser/]],
    [
      'the earlier one if a browser saves it again',
      browser,
      { kept_before: 'kept' },
      'kept',
      [/^.*The token that was kept before/],
    ],
    ['none that has ended', browser, { kept_before: 'ended' }, null, [/never called with the sign-in of a browser/]],
    ['none of somebody else', browser, { kept_before: 'other' }, null, [/never called with the sign-in of a browser/]],
  ])('is %s', async (_, more, saving, access_token, sentences) => {
    const identify = async (token: string) => (people[token] ?? null) as never;
    const order = { noun: 'schedule', path: 'workflow_id', uses_token: true, ...saving };
    const { warnings, ...kept } = await chooseRunCredentials(identify, caller(more), order);
    expect([kept.access_token, warnings.map(({ message }) => message)]).toEqual([
      access_token,
      sentences.map((sentence) => expect.stringMatching(sentence)),
    ]);
  });
});

it('a caller without the scope of an operation learns what is missing, and an open operation asks nobody', () => {
  refuseUnpermitted({ access: null }, undefined);
  refuseUnpermitted({ access: 'read' }, caller());
  expect(() => refuseUnpermitted({ access: 'run' }, caller())).toThrow('Your role viewer does not have the scope run; ask');
  const key = caller({ service_key: { id: 'k' } });
  expect(() => refuseUnpermitted({ access: 'run' }, key)).toThrow('This service key does not have the scope run; use');
});
