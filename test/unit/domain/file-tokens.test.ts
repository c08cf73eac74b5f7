import { expect, it } from 'vitest';
import { fileTokens, plainFileName } from '../../../src/domain/attachments.ts';
import { DELTA_CHARACTERS, piecesOfText } from '../../../src/domain/pieces.ts';

it('files are estimated by their kind: text and PDF by their size, media at one price', () => {
  const file = (media_type: string, size: number) => [{ media_type, size }];
  const text = fileTokens(file('text/plain', 4_000));
  expect(text).toBeGreaterThan(500);
  expect(fileTokens(file('text/plain', 8_000))).toBe(2 * text);
  expect(fileTokens(file('application/pdf', 100_001))).toBe(3_001);
  expect([fileTokens(file('image/png', 1)), fileTokens(file('image/png', 5_000_000))]).toEqual([1_600, 1_600]);
  expect(fileTokens([...file('image/png', 1), ...file('application/pdf', 100)])).toBe(3_601);
  expect([fileTokens(null), fileTokens([])]).toEqual([0, 0]);
});

it('a file name has no folder, no control character and 200 characters at most', () => {
  expect(['a/b\\c.txt', 'x\u0000\n.md', '../', '  ', '😀'.repeat(201)].map(plainFileName)).toEqual([
    ...['c.txt', 'x.md', 'file', 'file', '😀'.repeat(200)],
  ]);
});

it('a text is split into pieces without a character cut in two, of 16 KiB in events', () => {
  expect([...piecesOfText('ab😀cd', 3)]).toEqual(['ab😀', 'cd']);
  expect([...piecesOfText('', 3)]).toEqual([]);
  expect(DELTA_CHARACTERS).toBe(16_384);
});
