import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findPlace, toAddress } from '../../src/dashboard/help/links.ts';
import { closeScreens, openScreens, readLinks, toText } from '../support/browser/rendered.ts';

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens();
}, 60_000);
afterAll(closeScreens);

const shown = (text: string) =>
  the.render(the.Help, { at: '/help/runs', path: '/help/:page', replies: { docs: (() => text) as never } });

describe('a link on a page of the docs', () => {
  it.each<[string, object]>([
    ['budgets.md', { inside: '/help/budgets' }],
    ['budgets.md#a-month', { inside: '/help/budgets#a-month' }],
    ['#a-month', { inside: '#a-month' }],
    ['https://perdura.example/a', { outside: 'https://perdura.example/a' }],
    ['../src/main/cli.ts', {}],
  ])('leads to another page, to a section, or out: %s', (href, address) => {
    expect(toAddress(href)).toEqual(address);
  });

  it('to a file of the repository is only its text', () => {
    const html = shown('# Runs\n\nSee [budgets](budgets.md), [Temporal](https://temporal.example) and [the code](../src/a.ts).');
    expect(readLinks(html)).toEqual({ '← Docs': '/help', budgets: '/help/budgets', Temporal: 'https://temporal.example' });
    expect(toText(html)).toMatch(/Runs See budgets , Temporal and the code \.$/);
  });

  it.each([
    ['/dashboard/help/budgets', '#a-month', 'budgets#a-month'],
    ['/dashboard/help/budgets', '', 'budgets'],
    ['/dashboard/agents/new', '#a-month', 'runs#a-month'],
  ])('opens %s%s above a screen in the place of the page runs: %s', (pathname, hash, place) => {
    expect(findPlace({ pathname, hash }, 'runs')).toBe(place);
  });
});

describe('a heading of the docs', () => {
  it('has the anchor of all its text', () => {
    const html = shown('# Runs\n\n## The `turn` limit, *explained*\n\n### Why ![A picture](a.png)?');
    expect([...html.matchAll(/<h[23] id="([^"]*)"/g)].map(([, id]) => id)).toEqual(['the-turn-limit-explained', 'why-']);
  });
});

describe('a page of the docs', () => {
  it('that does not exist is a sentence', async () => {
    expect(toText(shown(await the.readPage('seventh')))).toMatch(/No page of the docs has this name\.$/);
  });
});
