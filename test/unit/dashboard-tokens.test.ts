import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { colors, primaryShade } from '../../src/dashboard/ui/colors.ts';

const DASHBOARD = resolve(import.meta.dirname, '../../src/dashboard');
const CSS = readFileSync(resolve(DASHBOARD, 'ui/tokens.css'), 'utf8');

/** The colours of each theme, by the name of their token. */
const TOKENS = Object.fromEntries(
  [...CSS.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = '', light = '', dark = '']) => [
    name,
    { light, dark },
  ]),
);

/** Returns the relative luminance of WCAG 2. */
function luminanceOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrastOf(one: string, other: string): number {
  const [lower = 0, higher = 0] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b);
  return (higher + 0.05) / (lower + 0.05);
}

/** The colours of filled buttons, apart from the usual one. One that the theme does not define is Mantine's own. */
const COLOURS_OF_BUTTONS = new Set(
  globSync('**/*.tsx', { cwd: DASHBOARD })
    .map((file) => readFileSync(resolve(DASHBOARD, file), 'utf8'))
    .flatMap((source) => [...source.matchAll(/<(?:\w*Button|ActionIcon)\b(?<given>(?:=>|[^>])*)>/g)])
    .map(({ groups }) => groups!.given!)
    .filter((given) => !/\bvariant=/.test(given))
    .flatMap((given) => /\bcolor="(\w+)"/.exec(given)?.[1] ?? []),
);

const STATES = ['good', 'bad', 'wait', 'busy', 'stopped', 'quiet'];
const SERIES = ['1', '2', '3', '4', '5', '6', 'rest'].map((name) => `series-${name}`);
const SURFACES = ['canvas', 'surface', 'surface-raised', 'surface-sunken', 'surface-hover'];
const PAIRS: [text: string, ground: string][] = [
  ...['ink', 'ink-dim', 'accent', ...STATES].flatMap((text) => SURFACES.map((ground): [string, string] => [text, ground])),
  ...['accent', ...STATES].map((text): [string, string] => [text, `${text}-soft`]),
  ['ink', 'accent-soft'],
];

describe.each(['light', 'dark'] as const)('in the %s theme', (theme) => {
  it.each(PAIRS)('text in %s can be read on %s', (text, ground) => {
    expect(contrastOf(TOKENS[text]![theme], TOKENS[ground]![theme])).toBeGreaterThanOrEqual(4.5);
  });

  it('white can be read on a filled button', () => {
    expect(contrastOf('#ffffff', TOKENS['accent-solid']![theme])).toBeGreaterThanOrEqual(4.5);
  });

  it.each([...COLOURS_OF_BUTTONS])('white can be read on a button in %s, also under the pointer', (colour) => {
    const shades = (colors as Record<string, readonly string[]>)[colour] ?? [];
    const place = primaryShade[theme];
    for (const ground of [place, place + 1])
      expect(contrastOf('#ffffff', shades[ground] ?? '#ffffff')).toBeGreaterThanOrEqual(4.5);
  });

  it.each([...STATES.map((state) => `${state}-solid`), ...SERIES])('a bar of %s is seen on a surface', (bar) => {
    expect(contrastOf(TOKENS[bar]![theme], TOKENS.surface![theme])).toBeGreaterThanOrEqual(3);
  });
});

it('lightens each higher surface of the dark theme', () => {
  const order = ['canvas', 'surface', 'surface-raised'].map((name) => luminanceOf(TOKENS[name]!.dark));
  expect(order).toEqual([...new Set(order)].sort((a, b) => a - b));
});
