import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import { closeScreens, openScreens, readButtons, type Shown, toText } from '../support/browser/rendered.ts';
import type { Sent } from '../support/browser/sent.ts';

const at = (day: number) => new Date(Date.UTC(2019, 2, day, 12, 11, 13)).toISOString();
const page = (items: object[]) => ({ items, total: items.length, next: null });
const refused = (errors: { path: string; message: string }[] = []) =>
  new ApiProblem({ status: 422, code: 'x', detail: 'It was refused', errors });

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(Date.UTC(2026, 0, 31, 12));
}, 60_000);
afterAll(closeScreens);

const textOf = (screen: Parameters<typeof the.render>[0], shown: Shown) => toText(the.render(screen, shown));
const countFailures = (text: string) => text.split('Request failed It was refused.').length - 1;

describe('a text that was tried on a guardrail', () => {
  const tried = (reply: object) =>
    textOf(the.GuardrailPanel, { props: { record: { id: 'g' } }, sent: { check_guardrail: { reply } } });

  it('passes, or is caught with the reasons and what would be let through', () => {
    expect(textOf(the.GuardrailPanel, { props: { record: { id: 'g' } } })).not.toMatch(/Passed|Caught/);
    const passed = tried({ passed: true, action: null, violations: [], text: 'so' });
    expect(passed).toContain('Passed');
    expect(passed).not.toMatch(/Caught|Copy/);
    const redacted = tried({ passed: false, action: 'redact', violations: ['Has a name', 'Has a date'], text: 'Dear [name]' });
    expect(redacted).toMatch(/Caught, action: redact Has a name Has a date .*Dear \[name\]/);
    const blocked = tried({ passed: false, action: 'block', violations: ['Too long'], text: null });
    expect(blocked).toContain('Caught, action: block Too long');
    expect(blocked).not.toContain('Copy');
  });
});

describe('a call that waits', () => {
  const item = {
    ...{ id: 't/1-1', kind: 'approval', task_id: 't', call_id: '1-1', tool: 'pay', arguments: '{}', arguments_cut: false },
    ...{ question: null, workflow_title: 'Daily', agent_name: 'Clerk', prompt: 'Pay.', waiting_since: at(5) },
  };

  it('is decided once', () => {
    const shown = (sent: Sent) => {
      const { Approve, Deny } = readButtons(the.render(the.Waiting, { replies: { list_inbox: page([item]) }, sent }));
      return { Approve, Deny };
    };
    expect(shown({})).toEqual({ Approve: true, Deny: true });
    expect(shown({ decide_approval: { reply: {} } })).toEqual({ Approve: 'disabled', Deny: 'disabled' });
  });
});

describe('what is halted', () => {
  it('cannot be halted again: a run', () => {
    const shown = (sent: Sent) => readButtons(the.render(the.HaltRun, { props: { task: { id: 't' } }, sent }));
    expect(shown({})).toEqual({ 'Halt …': true });
    expect(shown({ stop_task: { reply: {} } })).toEqual({ 'Halting …': 'disabled' });
  });

  it('cannot be halted again: an evaluation', () => {
    const get_evaluation = {
      ...{ id: 'e', dataset_id: 'd', workflow_id: 'w', workflow_title: 'Daily', definition_hash: 'abcdef0123', model: null },
      ...{ items: 23, passed: 7, failed: 3, errors: 2, pass_rate: null, parallel: 5, status: 'running', effects: 'stub' },
      ...{ baseline_id: null, regressions: [], graders: [], created_at: at(5), completed_at: null },
    };
    const shown = (sent: Sent) => readButtons(the.render(the.EvaluationPage, { replies: { get_evaluation }, sent }));
    expect(shown({})).toMatchObject({ Halt: true });
    expect(shown({ halt_evaluation: { reply: {} } })).toMatchObject({ 'Halting …': 'disabled' });
  });
});

describe('a source of knowledge', () => {
  const shown = (sent: Sent, last_error: string | null = null) =>
    textOf(the.SourcePanel, { props: { record: { id: 's', source_type: 'builtin', last_error } }, sent });
  const tested = (reply: object) => shown({ test_knowledge_source: { reply } });

  it('says after its test how it can be searched, or why not', () => {
    const good = { success: true, error: null };
    expect(tested({ ...good, embeddings: true })).toMatch(/Ready to search(?!, by)/);
    expect(tested({ ...good, embeddings: false })).toContain('Ready to search, by keywords only');
    expect(tested({ success: false, error: 'No such table', embeddings: false })).toContain('No such table');
    expect(countFailures(shown({ test_knowledge_source: refused() }))).toBe(1);
    expect(shown({}, 'The table is gone')).toContain('The table is gone');
    expect(shown({})).not.toContain('gone');
  });

  it('lists what a search found, with the warnings', () => {
    const passage = (position: number, score: number) => ({
      ...{ item_id: 'i', position, name: `Page ${position}`, content: `text ${position}`, score },
    });
    const searched = (reply: object) => shown({ query_knowledge: { reply } });
    const found = searched({ items: [passage(3, 0.756), passage(7, 0.5)], warnings: [{ path: '', message: 'By keywords' }] });
    expect(found).toContain('By keywords Page 3 score 0.76 text 3 Page 7 score 0.50 text 7');
    expect(found).not.toContain('No passages found.');
    expect(searched({ items: [], warnings: [] })).toContain('No passages found.');
    expect(shown({})).not.toContain('No passages found.');
  });
});

describe('a custom tool', () => {
  const RECORD = {
    ...{ id: 't', is_plugin: false, is_enabled: true, network: false, env_config: null },
    parameters_schema: { properties: {}, required: [] },
  };
  const shown = (record: object, more: Shown = {}) =>
    the.render(the.ToolPanel, { props: { record: { ...RECORD, ...record } }, ...more });

  it('shows the result of a test run, with what it printed', () => {
    const run = (reply: object) =>
      toText(
        shown(
          {},
          {
            sent: { run_custom_tool: { reply: { success: true, error: null, duration_ms: 503, result: { sum: 19 }, ...reply } } },
          },
        ),
      );
    const quiet = run({ stdout: '', stderr: '' });
    expect(quiet).toContain('Completed (503 ms)');
    expect(quiet).toContain('"sum": 19');
    const loud = run({ stdout: 'spoken', stderr: 'warned' });
    expect([quiet, loud].map((text) => /spoken.*warned/.test(text))).toEqual([false, true]);
    expect(run({ success: false, error: 'timed out', stdout: '', stderr: '' })).toContain('timed out (503 ms)');
    expect(run({ success: false, error: null, stdout: '', stderr: '' })).toContain('Failed (503 ms)');
  });

  it('begins with arguments of the right types, as far as these are known', () => {
    const properties = { n: { type: 'integer' }, on: { type: 'boolean' }, name: {}, some: { type: ['string', 'null'] } };
    const html = shown({ parameters_schema: { properties, required: ['n', 'on', 'name', 'some', 'missing'] } });
    const [, json = ''] = /<textarea[^>]*>([^<]*)<\/textarea>/.exec(html)!;
    expect(JSON.parse(json.replaceAll('&quot;', '"'))).toEqual({ n: 0, on: false, name: '', some: null, missing: '' });
  });

  it('says whether it reaches the network', () => {
    expect(toText(shown({ network: true }))).toContain('This tool can reach the network through the egress guard.');
    expect(toText(shown({}))).toContain('This tool has no network access. To grant it');
    const mapped = shown(
      { env_config: { KEY: {} } },
      { replies: { get_env_mapping: { env_mapping: {}, available_tokens: [] } } },
    );
    expect(toText(mapped)).toContain('no network access. Environment variables do not grant it. To grant it');
  });

  it('that is a plugin has a switch, which moves at once', () => {
    const isOn = (record: object, more: Shown = {}) => /<input[^>]*type="checkbox"[^>]*checked=""/.test(shown(record, more));
    const moving = (is_enabled: boolean) => ({ sent: { update_custom_tool: { pending: { body: { is_enabled } } } } });
    expect(shown({})).not.toContain('type="checkbox"');
    expect([isOn({ is_plugin: true }), isOn({ is_plugin: true, is_enabled: false })]).toEqual([true, false]);
    expect(isOn({ is_plugin: true }, moving(false))).toBe(false);
    expect(isOn({ is_plugin: true, is_enabled: false }, moving(true))).toBe(true);
    expect(countFailures(toText(shown({ is_plugin: true }, { sent: { update_custom_tool: refused() } })))).toBe(1);
  });

  it('shows the stored token of each variable, and a new choice at once', () => {
    const mapping = { env_mapping: { KEY: 'one', OTHER: null }, available_tokens: ['one', 'two'] };
    const chosen = (sent: Sent) =>
      [...shown({ env_config: {} }, { replies: { get_env_mapping: mapping }, sent }).matchAll(/<input[^>]*>/g)]
        .map(([input]) => /value="([^"]*)"/.exec(input)?.[1])
        .filter((value) => /^(one|two)$/.test(value ?? ''));
    expect(new Set(chosen({}))).toEqual(new Set(['one']));
    const pending = { body: { env_mapping: { KEY: 'two' } } };
    expect(new Set(chosen({ set_env_mapping: { pending } }))).toEqual(new Set(['two']));
  });
});

describe('a service key that was rotated', () => {
  const rotated = (sent: Sent) => textOf(the.Rotate, { props: { id: 'k' }, sent });

  it('is shown once, with the keys that end with the old one', () => {
    const alone = rotated({ rotate_service_key: { reply: { key: 'pk_new', ending_keys: [] } } });
    expect(alone).toContain('Copy the key now It is shown only this once.');
    expect(alone).toContain('pk_new');
    expect(alone).not.toContain('end with it');
    const ending_keys = [{ name: 'ci' }, { name: 'bot' }];
    expect(rotated({ rotate_service_key: { reply: { key: 'pk_new', ending_keys } } })).toContain(
      'Keys made with the replaced one end with it: ci, bot.',
    );
    expect(countFailures(rotated({ rotate_service_key: refused() }))).toBe(1);
    expect(countFailures(rotated({}))).toBe(0);
  });
});

describe('a back-fill', () => {
  const filled = (sent: Sent) => textOf(the.Backfill, { props: { id: 's', close() {} }, sent });
  const fires = (...outcomes: string[]) => ({
    backfill_scheduled_agent: { reply: { fires: outcomes.map((outcome) => ({ outcome })) } },
  });

  it('says how many runs it has started, or what is wrong with its range', () => {
    expect(filled(fires())).toContain('The schedule was not due in this range.');
    expect(filled(fires('backfilled', 'skipped', 'backfilled'))).toContain('2 of 3 due times have a run of a back-fill.');
    const wrong = filled({ backfill_scheduled_agent: refused([{ path: 'to', message: 'Before the first' }]) });
    expect(wrong).toMatch(/First due time.*Last due time.*Before the first.*It was refused/);
    expect(wrong.split('Before the first')).toHaveLength(2);
    expect(filled({})).toContain('Runs the due times of this range that have no run');
  });
});

describe('the import of MCP servers', () => {
  it('reports the result of each server', () => {
    const imported = (sent: Sent) => textOf(the.McpImportForm, { sent });
    const reply = { created: 3, errors: ['mail: no URL'], warnings: [{ path: 'command', message: 'Not found' }] };
    expect(imported({})).not.toContain('Servers:');
    expect(imported({ import_mcp_servers: { reply } })).toMatch(/Servers: 3 created, 1 refused mail: no URL command: Not found/);
  });
});

describe('the grants of a stored token', () => {
  const shown = (sent: Sent, grants: object[]) =>
    textOf(the.TokenPanel, {
      props: { record: { id: 'k', fingerprint: 'abc', used_by: [], updated_at: at(7) } },
      replies: { list_token_grants: grants, list_token_uses: page([]) },
      sent,
    });
  const grant = {
    resource_type: 'mcp_server',
    resource_name: 'mail',
    destination: 'd',
    destination_label: 'm.example',
    resource_id: 'r',
  };

  it('are absent while nothing refers to it, and its uses before the first', () => {
    expect(shown({}, [])).toMatch(/Used by nothing .*No resource refers to this token\..*Not used yet\./);
  });

  it('show why one could not be given or revoked', () => {
    const grants = [{ ...grant, id: 'g', status: 'granted' }];
    expect(countFailures(shown({}, grants))).toBe(0);
    expect(countFailures(shown({ grant_token: refused() }, grants))).toBe(1);
    expect(countFailures(shown({ revoke_token_grant: refused() }, grants))).toBe(1);
  });
});

describe('a schedule', () => {
  const record = {
    ...{ id: 's', workflow_id: 'w', enabled: true, disabled_reason: null, interval_value: 7, interval_unit: 'days', cron: null },
    ...{ next_run_at: null, last_run_at: null },
  };

  it('shows why it could not be run or switched off', () => {
    const shown = (sent: Sent) =>
      countFailures(textOf(the.ScheduleActions, { props: { record }, replies: { list_schedule_runs: page([]) }, sent }));
    expect([shown({}), shown({ trigger_scheduled_agent: refused() }), shown({ disable_scheduled_agent: refused() })]).toEqual([
      0, 1, 1,
    ]);
  });
});

describe('the sign-in at an MCP server', () => {
  const record = { id: 'm', transport_type: 'http', last_error: 'It ended', sign_in: { signed_in_at: at(3), expires_at: null } };
  const shown = (sent: Sent) => textOf(the.McpPanel, { props: { record }, sent });

  it('shows why it could not begin', () => expect(countFailures(shown({ begin_mcp_sign_in: refused() }))).toBe(1));

  it('leaves the last error out once the connection was tested', () => {
    const test = (reply: object) => shown({ test_mcp_server: { reply } });
    expect(shown({})).toContain('It ended');
    const tested = test({ success: true, error: null, tools: [{ name: 'a' }] });
    expect(tested).toContain('Connected: 1 tool');
    expect(tested).not.toContain('It ended');
  });
});

it.each(['AlertPanel', 'GuardrailPanel', 'SourcePanel', 'ToolPanel'] as const)('%s shows why its request failed', (screen) => {
  const record = {
    ...{ id: 'r', source_type: 'builtin', last_error: null, measure: 'spend', last_value: 7, state: 'ok', state_since: at(3) },
    ...{ enabled: true, measured_at: null, muted_until: null, parameters_schema: {}, env_config: null },
  };
  const operations = ['update_alert', 'check_guardrail', 'query_knowledge', 'run_custom_tool'];
  const sent = Object.fromEntries(operations.map((operation) => [operation, refused()]));
  expect(countFailures(textOf(the[screen], { props: { record }, sent }))).toBe(1);
  expect(countFailures(textOf(the[screen], { props: { record } }))).toBe(0);
});
