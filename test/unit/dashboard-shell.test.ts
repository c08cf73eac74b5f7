import { afterEach, expect, it, vi } from 'vitest';
import { findScreenIcon } from '../../src/dashboard/shell/icons.ts';
import { formatKey } from '../../src/dashboard/shell/keys.ts';
import { filterLinks, NAVIGATION } from '../../src/dashboard/shell/navigation.ts';
import { SCOPES_OF } from '../../src/domain/access.ts';

const LINKS = NAVIGATION.flatMap(({ links }) => links);
const SCREENS = LINKS.map(([to]) => to);

afterEach(() => void vi.unstubAllGlobals());

it.each([
  ['a viewer', SCOPES_OF.viewer, ['/make', '/audit', '/system']],
  ['an editor', SCOPES_OF.editor, ['/audit', '/system']],
  ['an administrator', SCOPES_OF.administrator, []],
  ['somebody who is not known yet', undefined, ['/audit', '/system']],
])('the menu of %s has no screen that they may not open', (_, scopes, hidden) => {
  expect(filterLinks(LINKS, scopes).map(([to]) => to)).toEqual(SCREENS.filter((to) => !hidden.includes(to)));
});

it('each screen of the menu has its own icon, also for a record on it', () => {
  const icons = SCREENS.map(findScreenIcon);
  expect(icons).not.toContain(undefined);
  expect(new Set(icons).size).toBe(SCREENS.length);
  expect(findScreenIcon('/agents/7')).toBe(findScreenIcon('/agents'));
});

it.each([
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)', ['⌘', 'K']],
  ['Mozilla/5.0 (X11; Linux x86_64)', ['Ctrl', 'K']],
])('a key is named as on the keyboard of %s', (userAgent, names) => {
  vi.stubGlobal('navigator', { userAgent });
  expect(['Ctrl', 'K'].map(formatKey)).toEqual(names);
});
