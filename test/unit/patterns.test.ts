import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { analyse } from 'scslre';
import { parseSync } from 'vite';
import { describe, expect, it } from 'vitest';
import { parseAttachments } from '../../src/api/routes/attachments.ts';
import { findJsonText } from '../../src/domain/json-answers.ts';
import { parseFacts } from '../../src/domain/memory.ts';
import { qdrantBase } from '../../src/domain/remote-address.ts';
import { listTokenNames } from '../../src/domain/secrets.ts';
import { secretSpellings } from '../../src/domain/spellings.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Every pattern that a source file writes as a literal. */
function patternsIn(file: string): { source: string; flags: string }[] {
  const found: { source: string; flags: string }[] = [];
  const visit = (node: any): void => {
    if (node?.type === 'Literal' && node.regex) found.push({ source: node.regex.pattern, flags: node.regex.flags });
    for (const child of Object.values(node ?? {})) if (typeof child === 'object') visit(child);
  };
  visit(parseSync(file, readFileSync(resolve(ROOT, file), 'utf8')).program);
  return found;
}

/** Whether a text exists on which the pattern takes the square of its length, or longer. */
const isSlow = ({ source, flags }: { source: string; flags: string }) =>
  analyse({ source, flags }, { maxReports: 1 }).reports.length > 0;

describe('patterns over texts of others', () => {
  it('take a time in proportion to the text, wherever a source has one', () => {
    const files = globSync('src/**/*.{ts,tsx}', { cwd: ROOT }).filter((file) => !file.startsWith('src/generated/'));
    const patterns = new Map(
      files.flatMap((file) => patternsIn(file).map((one) => [`/${one.source}/${one.flags}`, { file, ...one }])),
    );
    expect(patterns.size).toBeGreaterThan(200);
    expect([...patterns].filter(([, one]) => isSlow(one)).map(([pattern, { file }]) => `${file}: ${pattern}`)).toEqual([]);
  });

  it.each([/a+$/, /^\s*(.*?)\s*$/, /\{[\s\S]*\}/])('%s would be found', ({ source, flags }) => {
    expect(isSlow({ source, flags })).toBe(true);
  });

  /** Enough that the square of it takes minutes. */
  const MANY = 400_000;
  const many = (text: string) => text.repeat(MANY / text.length);

  it('a data URL of spaces is refused', () => {
    const data = `data:image/png;base64,${many(' ')}!`;
    expect(() => parseAttachments([{ data }])).toThrow(expect.objectContaining({ code: 'invalid_attachment' }));
  });

  it.each([
    ...[`\`\`\`json${many('\n')}`, `\`\`\`\n${many('```')} x`, many('```json\n'), many('{'), many('{"a":['), many('[')],
    ...[many('[1]'), many('[1]\n'), many('[ '), many('{x}'), many('{"a":1}'), `[1]${many(' ')}x`],
  ])('brackets and fences without an end, or without number, are left as they are', (text) => {
    expect(findJsonText(text)).toBe(text);
  });

  it('braces without an end hold no facts', () => {
    expect(parseFacts(many('{'))).toEqual([]);
  });

  it.each([`a://${many(':')} {{token:x}}`, `a://b${many('?')} {{token:x}}`])('a long address has its token found', (url) => {
    expect(listTokenNames({ url })).toEqual(['x']);
  });

  it('an address that ends in a word keeps its slashes', () => {
    const url = `http://example.com/${many('/')}x`;
    expect(qdrantBase(url)).toBe(url);
  });

  it('a long value is spelled', () => {
    const value = `scheme${many(':')}\nsecret-line`;
    expect(secretSpellings(value)).toContain(value);
  });
});
