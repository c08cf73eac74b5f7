import { expect, it } from 'vitest';
import { showProgress } from '../../src/main/remote/progress.ts';

/** Keeps what is written to a terminal, as the line that it then shows last. */
function terminal({ columns }: { columns: number | undefined } = { columns: 41 }) {
  let shown = '';
  const write = (text: string) => {
    shown = `${shown}${text}`.split('\r\x1b[K').at(-1)!;
    return true;
  };
  return { stream: { isTTY: true, columns, write } as unknown as NodeJS.WriteStream, getLine: () => shown };
}

it('names what is still checked, and leaves nothing on the line when all is done', () => {
  const { stream, getLine } = terminal();
  const progress = showProgress(['database', 'engine'], stream);
  expect(getLine()).toBe('checking 1 of 2: database, engine …');
  progress.done('database');
  expect(getLine()).toBe('checking 2 of 2: engine …');
  progress.done('engine');
  expect(getLine()).toBe('');
});

it('prints above its line, which is no wider than the terminal', () => {
  const { stream, getLine } = terminal();
  const progress = showProgress(['database', 'engine', 'search attributes'], stream);
  expect(getLine()).toBe('checking 1 of 3: database, engine, searc');
  let before: string | null = null;
  progress.around((word: string) => {
    before = getLine() + word;
  }, 'ok');
  expect([before, getLine()]).toEqual(['ok', 'checking 1 of 3: database, engine, searc']);
  progress.end();
  expect(getLine()).toBe('');
});

it('takes a terminal that does not report its width for one of 80 columns', () => {
  const { stream, getLine } = terminal({ columns: undefined });
  showProgress(['x'.repeat(97)], stream);
  expect(getLine()).toBe(`checking 1 of 1: ${'x'.repeat(62)}`);
});
