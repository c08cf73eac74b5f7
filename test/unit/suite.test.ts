import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { UNCOVERED } from '../coverage/uncovered.ts';
import { REST } from '../rest.ts';

it('leaves out only test files that exist', () => {
  expect(Object.keys(REST).filter((name) => !existsSync(`test/${name}.test.ts`))).toEqual([]);
});

it('excuses only branches that exist', () => {
  const gone = UNCOVERED.filter(({ file, text }) => !existsSync(file) || !readFileSync(file, 'utf8').includes(text));
  expect(gone).toEqual([]);
});
