import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { someOf } from '../support/some-of.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('some of the cases', () => {
  const { EVERY_CASE } = process.env;
  afterEach(() => {
    if (EVERY_CASE === undefined) delete process.env.EVERY_CASE;
    else process.env.EVERY_CASE = EVERY_CASE;
  });

  it('are every n-th, from the first on', () => {
    delete process.env.EVERY_CASE;
    expect(someOf([1, 2, 3, 4, 5], 2)).toEqual([1, 3, 5]);
    expect(someOf([1, 2], 3)).toEqual([1]);
  });

  it('are all of them in the long tests', () => {
    process.env.EVERY_CASE = '1';
    expect(someOf([1, 2, 3, 4, 5], 2)).toEqual([1, 2, 3, 4, 5]);
  });
});

it('all cases are run by npm run test:long, of each file of which npm test runs some', () => {
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).filter(
    (file) => /\b(?:someOf|everyCase)\(/.test(read(file)) && !file.startsWith('test/unit/'),
  );
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const [every, , , command, ...named] = scripts['test:long']!.split(' ');
  expect([every, command]).toEqual(['EVERY_CASE=1', 'test']);
  const alone = files.filter((file) => !file.startsWith('test/browser/'));
  expect(files.length - alone.length).toBeGreaterThan(0);
  expect(named.sort()).toEqual(['test/browser', 'test/long', ...alone].sort());
});
