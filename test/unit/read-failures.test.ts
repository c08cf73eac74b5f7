import { expect, it } from 'vitest';
import { fileReader } from '../../src/knowledge/extract.ts';
import { ParserFailure } from '../../src/parsers/failure.ts';

const read = (run: () => Promise<object>, filename = 'report.pdf') =>
  fileReader({ run } as never, { deadline_ms: 5_000, patience_ms: 1_000 })({ filename, content: new Uint8Array(), owner: 'p' });

it.each<[ParserFailure['kind'], object]>([
  ['refused', { kind: 'unprocessable', code: 'unreadable_file', message: 'The file report.pdf cannot be read: the reason' }],
  ['timeout', { kind: 'unprocessable', code: 'file_too_costly', message: 'The file report.pdf cannot be read: the reason' }],
  ['memory', { kind: 'unprocessable', code: 'file_too_costly', message: 'The file report.pdf unpacks to more than can be read' }],
  ['busy', { kind: 'too_many', code: 'parsers_busy', message: 'The file report.pdf was not read: the reason' }],
  ['ended', { kind: 'unavailable', message: 'The service is stopping; try again shortly' }],
])('a file whose reading ends as %s is answered by its own refusal', async (kind, refusal) => {
  await expect(read(() => Promise.reject(new ParserFailure(kind, 'the reason')))).rejects.toMatchObject(refusal);
});

it('a fault of the program is not reported as one of the file', async () => {
  const fault = new TypeError('ours');
  await expect(read(() => Promise.reject(fault))).rejects.toBe(fault);
});

it.each([
  ['', 'The file is not one of .pdf, '],
  ['report.exe', 'report.exe is not one of .pdf, '],
])('a file with the name %j is refused by its name', async (filename, reason) => {
  await expect(read(async () => ({ text: 'x', length: 1 }), filename)).rejects.toThrow(reason);
});

it('a file may hold two million characters of text, and no more', async () => {
  const ofLength = (length: number) => read(async () => ({ text: 'the beginning', length }));
  expect(await ofLength(2_000_000)).toEqual({ text: 'the beginning', content_type: 'application/pdf' });
  await expect(ofLength(2_000_001)).rejects.toMatchObject({ code: 'too_much_text' });
});
