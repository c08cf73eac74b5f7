import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import { readTypedAnswer, toTypedAnswer } from '../../src/dashboard/datasets/typed-answer.ts';
import { buildBars } from '../../src/dashboard/usage/measures.ts';
import { TASK_STATUSES } from '../../src/domain/statuses.ts';
import { closeScreens, openScreens, readButtons, readFacts, readLinks, SHOWN_TASK, toText } from '../support/browser/rendered.ts';

const NOON = Date.UTC(2026, 0, 31, 12);
const at = (day: number) => new Date(Date.UTC(2019, 2, day, 12, 11, 13)).toISOString();
const page = (items: object[]) => ({ items, total: items.length, next: null });
const GONE = new ApiProblem({ status: 502, code: 'x', detail: 'Gone' });

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(NOON);
}, 60_000);
afterAll(closeScreens);

const USAGE = { total_in: 1_009, total_out: 211, cache_read: 0, cache_write: 0, premium_requests: 0, cost: 7.5 };
const TASK = { ...SHOWN_TASK, status: 'completed', usage: USAGE, created_at: at(5), started_at: null, elapsed_seconds: null };

describe('an expected answer', () => {
  it.each([
    [null, '', false],
    [undefined, '', false],
    ['Rome', 'Rome', false],
    [{ city: 'Rome' }, '{\n  "city": "Rome"\n}', true],
  ])('%j is shown as %j, which is JSON: %j', (answer, text, is_json) => {
    expect(toTypedAnswer(answer)).toEqual({ text, is_json });
  });

  it('is read as typed: nothing, a text, or JSON', () => {
    expect(readTypedAnswer({ text: ' ', is_json: true })).toEqual({ value: null });
    expect(readTypedAnswer({ text: '[7]', is_json: false })).toEqual({ value: '[7]' });
    expect(readTypedAnswer({ text: '[7]', is_json: true })).toEqual({ value: [7] });
    expect(readTypedAnswer({ text: '[7', is_json: true })).toEqual({ wrong: expect.stringMatching(/^Not valid JSON: /) });
  });

  it('of a run is its answer, and the files of its prompt are left out', () => {
    const shown = (attachments: object[]) =>
      the.render(the.AddToDataset, { props: { task: { ...TASK, response: 'Rome', attachments } } });
    expect(shown([])).toMatch(/<textarea[^>]*>Rome<\/textarea>/);
    expect(toText(shown([{ id: 'f', name: 'bill.pdf' }]))).toContain('Items have no files: an evaluation sends');
    expect(toText(shown([]))).not.toContain('Items have no files');
  });
});

describe('a dataset', () => {
  it('has its description, if it has one', () => {
    const dataset = { id: 'd', name: 'Cities', item_count: 23, updated_at: at(7) };
    const shown = (description: string) =>
      toText(
        the.render(the.DatasetPage, {
          ...{ at: '/datasets/d', path: '/datasets/:id' },
          replies: { get_dataset: { ...dataset, description }, list_dataset_items: page([]) },
        }),
      );
    expect(shown('Capitals of the world')).toContain('Delete … Capitals of the world Items 23');
    expect(shown('')).toContain('Delete … Items 23');
  });
});

describe('an evaluation', () => {
  const evaluation = {
    ...{ id: 'e', dataset_id: 'd', workflow_id: 'w', workflow_title: null, definition_hash: 'abcdef0123', model: null },
    ...{ items: 23, passed: 7, failed: 3, errors: 2, pass_rate: null, parallel: 5, status: 'running', effects: 'stub' },
    ...{ baseline_id: null, regressions: [], graders: [], created_at: at(5), completed_at: null },
  };

  it('of a workflow without a title has words for it, also while its dataset is read', () => {
    const replies = { get_evaluation: evaluation, list_evaluation_results: page([]) };
    const html = the.render(the.EvaluationPage, { replies, at: '/datasets/d/runs/e', path: '/datasets/:id/runs/:run_id' });
    expect(toText(html)).toMatch(/^← Dataset Evaluation of a workflow /);
    expect(readFacts(html).Workflow).toBe('untitled');
    const gone = the.render(the.EvaluationPage, {
      ...{ replies: { get_evaluation: GONE }, at: '/datasets/d/runs/e', path: '/datasets/:id/runs/:run_id' },
    });
    expect(toText(gone)).toBe('← Dataset Evaluation Request failed Gone. Try again');
  });

  it('shows ten regressions, and all of them on request', () => {
    const regression = (at: number) => ({
      item_id: `i${at}`,
      prompt: `Question ${at}.`,
      status: 'failed',
      task_id: null,
      baseline_task_id: null,
    });
    const shown = (count: number) => {
      const regressions = Array.from({ length: count }, (_, at) => regression(at + 1));
      return the.render(the.Regressions, { props: { evaluation: { ...evaluation, regressions } } });
    };
    expect(Object.keys(readButtons(shown(10)))).toEqual([]);
    expect(Object.keys(readButtons(shown(11)))).toEqual(['Show all 11']);
    expect(toText(shown(11))).toContain('Question 10.');
    expect(toText(shown(11))).not.toContain('Question 11.');
  });
});

describe('the versions of a workflow', () => {
  const version = (number: number, more: object = {}) => ({
    ...{ number, current: false, origin: 'saved', created_by: 'alice', created_at: at(number), runs: 2, last_evaluation: null },
    ...{ id: `v${number}`, definition_hash: `h${number}`, ...more },
  });
  const shown = (items: object[], { at = '/', detail = {} }: { at?: string; detail?: object } = {}) =>
    the.render(the.Versions, {
      ...{ props: { workflow_id: 'w' }, at },
      replies: {
        list_workflow_versions: page(items),
        get_workflow_version: ({ params: { number } }: { params: { number: number } }) => ({
          ...{ number, changes: [], definition: { model: 'large' }, restorable: true, ...detail },
        }),
      },
    });

  it('say if the next run makes a new one', () => {
    const NEW = 'the next run makes a new version';
    expect(toText(shown([version(7), version(5)]))).toContain(NEW);
    expect(toText(shown([version(7, { current: true }), version(5)]))).not.toContain(NEW);
    expect(toText(shown([]))).not.toContain(NEW);
  });

  it('can be compared with one that is not listed', () => {
    const options = (address: string) =>
      [...shown([version(7), version(5)], { at: address }).matchAll(/<option[^>]*>([^<]*)</g)].map(([, option]) => option);
    expect(options('/?version=7&against=5')).toEqual(['version 5', 'what the next run uses']);
    expect(options('/?version=7&against=3')).toEqual(['version 3', 'version 5', 'what the next run uses']);
    expect(options('/?version=5')).toEqual(['nothing', 'version 7', 'what the next run uses']);
  });

  it('say that nothing differs, or that one cannot be restored', () => {
    expect(toText(shown([version(7)]))).toContain('Nothing differs.');
    expect(Object.keys(readButtons(shown([version(7)])))).toContain('Restore …');
    const old = shown([version(7)], { detail: { restorable: false, changes: null } });
    expect(toText(old)).toContain('it can be compared but not restored');
    expect(toText(old)).not.toContain('Nothing differs.');
    expect(Object.keys(readButtons(old))).not.toContain('Restore …');
  });

  it('show lists by line, other values as JSON, and what is missing as none', () => {
    const of = [
      { path: 'skills', kind: 'changed', before: ['a', 'b'], after: ['a', 'c'] },
      { path: 'budget', kind: 'added', before: null, after: { max_seconds: 7 } },
      { path: 'limits', kind: 'removed', before: [3], after: null },
    ];
    const parts = toText(the.render(the.Changes, { props: { of } }));
    expect(parts).toBe(
      'changed skills a − b + c added budget − none + { + "max_seconds": 7 + } removed limits − [ − 3 − ] + none',
    );
  });
});

describe('a trial of a step', () => {
  const step = (output: string) => ({ step: 3, output, tool_calls: [], ended_at: at(7) });
  const shown = (trial: object) =>
    the.render(the.Trials, {
      props: { task: TASK, step: 3, of: ['t7'] },
      replies: { get_task_step: step('Seven.'), get_task: { ...TASK, id: 't7', model: null, steps_detail: [], ...trial } },
    });

  it('says whether the answer is the same, and why there is none', () => {
    expect(toText(shown({ steps_detail: [step('Seven.')] }))).toContain('compared with the run The same.');
    expect(toText(shown({ steps_detail: [step('Eleven.')] }))).not.toContain('The same.');
    expect(toText(shown({ status: 'failed', error: 'No such model' }))).toContain('No such model');
    expect(readFacts(shown({}))).toMatchObject({ Status: 'completed', Model: 'default', Cost: '$7.50' });
    expect(readLinks(shown({}))).toEqual({ 'Open the run': '/tasks/t7', 'Compare the runs': '/runs/compare?ids=t,t7' });
  });

  it('begins with the first step if the address names none', () => {
    const title = (address: string) => toText(the.render(the.Playground, { at: address, path: '/tasks/:id/playground' }));
    expect(title('/tasks/t/playground')).toContain('Playground: step 1 of #t ');
    expect(title('/tasks/t/playground?step=5')).toContain('Playground: step 5 of #t ');
  });

  it('names what would be saved, records by their name', () => {
    const replies = { list_providers: page([{ id: 'p3', name: 'near' }]) };
    const line = (more: object) =>
      toText(the.render(the.LineChoice, { props: { line: { place: 'agent', ...more }, checked: true, set() {} }, replies }));
    expect(line({ name: 'provider_id', before: 'p3', after: null })).toMatch(/^provider of the agent − near$/);
    expect(line({ name: 'max_turns', place: 'workflow', before: null, after: 7 })).toMatch(
      /^max turns of the workflow − none \+ 7$/,
    );
  });
});

describe('the usage of a period', () => {
  const row = (more: object) => ({
    ...{ key: 'k', label: 'Office', at: null, runs: 11, completed: 7, failed: 4, halted: 0, estimated: 0, unpriced: 0 },
    ...{ ...USAGE, ...more },
  });
  const shown = (rows: object[]) => {
    const none = { rows: [] };
    const replies = { get_usage: { from: at(5), to: at(5), rows }, get_tool_usage: none, get_model_usage: none };
    return toText(the.render(the.Usage, { replies }));
  };

  it('has no cost if nothing has a price, and says how many runs lack one', () => {
    expect(shown([row({ cost: null, unpriced: 11 })])).toContain('1,220 Tokens unknown Cost');
    expect(shown([row({}), row({ key: 'l', cost: 0, unpriced: 3 })])).toContain(
      '2,440 Tokens $7.50, without 3 runs that lack a price Cost',
    );
    expect(shown([row({ unpriced: 1 })])).toContain('$7.50, without 1 run that lack a price Cost');
  });

  it('always has a period, but not always a measure', () => {
    const html = the.render(the.Usage, { replies: {} });
    const readOptions = (name: string) => toText(html.match(new RegExp(`<select[^>]* name="${name}".*?</select>`))?.[0] ?? '');
    expect(readOptions('days')).toBe('last day last 7 days last 30 days last 90 days');
    expect(readOptions('measure')).toMatch(/^usual /);
  });

  it('of further groups is that of all others', () => {
    expect(shown([row({}), row({ key: null, label: null })])).toMatch(/Office .*all others /);
  });

  it('has a bar for each hour of a day, without a cost where none is known', () => {
    const hour = (number: number) => `2026-01-31T0${number}:00:00.000Z`;
    const rows = [row({ at: hour(3) }), row({ at: hour(5), cost: null })] as never;
    const { data } = buildBars({ from: hour(2), to: hour(6), rows }, 'cost', 'hour');
    expect(data).toEqual([{ at: hour(2) }, { at: hour(3), 'group k': 7.5 }, { at: hour(4) }, { at: hour(5) }]);
  });
});

describe('the overview', () => {
  it('says what cannot be read', () => {
    const html = the.render(the.Overview, { replies: { list_tasks: GONE, ready: GONE } });
    const counts = Object.keys(readLinks(html)).filter((text) => text.startsWith('? '));
    expect(counts).toEqual(TASK_STATUSES.map((status) => `? ${status}`));
    expect(toText(html)).toMatch(/Health .*Gone/);
    const waiting = toText(the.render(the.Waiting, { replies: { list_inbox: GONE } }));
    expect(waiting).toBe('Waiting for you Request failed Gone. Try again');
  });

  it('counts the time of a run that has not started from when it was made, and says if nothing has a price', () => {
    const created_at = new Date(NOON - 7 * 60_000).toISOString();
    const waiting = { ...TASK, created_at, status: 'waiting', workflow_title: null };
    const replies = {
      list_tasks: page([waiting]),
      get_usage: { rows: [{ ...USAGE, runs: 7, failed: 0, cost: null }] },
      get_tool_usage: { rows: [] },
    };
    const text = toText(the.render(the.Today, { replies }));
    expect(text).toContain('Waiting longest Clerk started 7 minutes ago');
    expect(text).toContain('Spent today unknown 1,220 tokens, no prices set');
  });
});

describe('the audit', () => {
  it('is for those who may read it', () => {
    const shown = (scopes: string[]) =>
      toText(
        the.render(the.Audit, {
          ...{ replies: { get_me: { role: 'viewer', scopes, service_key_id: null }, list_audit: page([]) }, signed_in: true },
        }),
      );
    expect(shown(['read'])).toContain('Your role viewer does not have the scope audit');
    expect(shown(['read', 'audit'])).toContain('Every request that did more than read');
  });
});
