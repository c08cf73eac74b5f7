import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Broken as BrokenScreen } from '../../src/dashboard/ui/broken.tsx';
import { textDifference } from '../../src/dashboard/ui/diff-rows.ts';
import { formatCost, formatDistance, formatMoney, formatShare } from '../../src/dashboard/ui/figures.ts';
import { formatLocalTime } from '../../src/dashboard/ui/local-time.ts';
import { closeScreens, openScreens, readLinks, toText } from '../support/browser/rendered.ts';

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens();
}, 60_000);
afterAll(closeScreens);

describe('a figure', () => {
  it.each([
    [0, 7, '0 %'],
    [7, 0, '0 %'],
    [1, 1_001, 'under 0.1 %'],
    [1, 1_000, '0.1 %'],
    [99, 10_000, '1.0 %'],
    [1, 100, '1 %'],
    [2, 3, '67 %'],
  ])('of a share, %i of %i, is never zero if it is not', (part, whole, text) => expect(formatShare(part, whole)).toBe(text));

  it.each([
    [0, '$0'],
    [0.000009, 'under $0.00001'],
    [0.00001, '$0.00001'],
    [0.009994, '$0.00999'],
    [0.01, '$0.01'],
    [0.12345, '$0.1235'],
    [1.2345, '$1.23'],
    [12_345, '$12,345.00'],
  ])('of %d US dollars is %s', (value, text) => expect(formatMoney(value)).toBe(text));

  it('of an unknown cost is not zero', () =>
    expect([formatCost({ cost: null }), formatCost({ cost: 0 }), formatCost({ cost: 0, priced: false })]).toEqual([
      ...['unknown', '$0', 'unknown'],
    ]));

  it.each([
    [-61, '1 minute ago'],
    [-59, 'just now'],
    [5, 'just now'],
    [6, 'in under a minute'],
    [59, 'in under a minute'],
    [61, 'in 1 minute'],
    [23.4 * 3_600, 'in 23 hours'],
    [25 * 3_600, 'in 1 day'],
  ])('of a time %d s from now is %s', (seconds, text) =>
    expect(formatDistance(new Date(seconds * 1_000).toISOString(), 0)).toBe(text),
  );

  it('of a time that is none is empty in a field', () => {
    expect(formatLocalTime('tomorrow')).toBe('');
    expect(new Date(formatLocalTime('2026-01-31T12:07:03.000Z')).toISOString()).toBe('2026-01-31T12:07:03.000Z');
  });
});

describe('the difference of two texts', () => {
  const shown = (before: string, after: string) => the.render(the.TextDiff, { props: { before, after, label: 'Prompt' } });

  it('marks words, and lines with a sign; equal lines far away are counted', () => {
    expect(shown('Be kind.', 'Be strict.')).toMatch(/Be <del>kind<\/del><ins>strict<\/ins>\./);
    const lines = (last: string) => `${['a', 'b', 'c', 'd', 'e', 'f'].join('\n')}\n${last}\n`;
    expect(toText(shown(lines('old'), lines('new')))).toMatch(/^… 3 equal lines … d e f − old \+ new/);
  });

  it('has nothing removed if there was nothing, however long the other text is', () => {
    const text = Array.from({ length: 1_101 }, (_, at) => `line ${at}\n`).join('');
    expect(textDifference('', text).parts).toEqual([{ kind: 'added', text }]);
    expect(textDifference(text, '').parts).toEqual([{ kind: 'removed', text }]);
  });
});

describe('a block of code', () => {
  const code = (value: unknown) =>
    /<pre[^>]*>(.*?)<\/pre>/s.exec(the.render(the.Code, { props: { label: 'Value', children: value } }))?.[1];
  it('formats JSON and values, and keeps other text; what is missing is empty', () => {
    const values = [{ a: 7 }, '{"a":7}', '{a}', 7, undefined];
    expect(values.map(code).map((text) => text?.replaceAll('&quot;', '"'))).toEqual([
      '{\n  "a": 7\n}',
      '{\n  "a": 7\n}',
      '{a}',
      '7',
      '',
    ]);
  });
});

describe('the verdict of a test', () => {
  it.each([
    [true, null, 'done', 'Passed'],
    [false, 'Caught', 'failed', 'Caught'],
    [false, null, 'failed', 'Failed'],
  ])('that is %s, with the words %s', (good, no, _, text) => {
    const html = the.render(the.TestVerdict, { props: { good, yes: 'Passed', no } });
    expect(toText(html)).toBe(text);
    expect(html).toContain(`data-tone="${good ? 'good' : 'bad'}"`);
  });
});

describe('the report of an import', () => {
  const shown = (result: object, dry?: boolean) =>
    toText(
      the.render(the.ImportReport, {
        props: { title: 'Agents', result: { created: 7, errors: [], warnings: [], ...result }, ...(dry && { dry }) },
      }),
    );
  it('says what was created, or would be, and what was refused and why', () => {
    expect(shown({})).toBe('Agents: 7 created');
    expect(shown({}, true)).toBe('Agents: 7 would be created');
    expect(shown({ errors: ['a: too long', 'b: taken'] })).toBe('Agents: 7 created, 2 refused a: too long b: taken');
  });

  it('names the place of a warning once', () => {
    const warnings = [
      { path: 'model', message: 'No provider has it' },
      { path: 'tools', message: 'tools names none' },
    ];
    expect(shown({ warnings })).toBe('Agents: 7 created model: No provider has it tools names none');
  });
});

describe('what a model wrote', () => {
  it('has a link instead of a picture, also without words for it', () => {
    const text = '![a cat](https://p.example/7) ![](https://p.example/11) ![bad](javascript:x)';
    const html = the.render(the.Markdown, { props: { children: text } });
    expect(readLinks(html)).toEqual({ 'a cat': 'https://p.example/7', picture: 'https://p.example/11' });
    expect(toText(html)).toBe('a cat picture bad');
  });
});

it('a screen that failed shows the reason, and what to do', () => {
  const Broken = the.Broken as typeof BrokenScreen;
  const broken = new Broken({ children: 'The screen' });
  const shown = () => toText(the.render(() => broken.render(), {}));
  expect(shown()).toBe('The screen');
  broken.state = Broken.getDerivedStateFromError(new Error('No such column.'));
  expect(shown()).toBe(
    'This screen failed No such column. Reload the page. If it fails again, report this message as a bug. Reload',
  );
});
