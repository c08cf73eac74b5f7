import { access, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';

const root = new URL('../../', import.meta.url);

/** How many requirements of levels 1 and 2 each section of ASVS 5.0.0 has; they are the first ones of the section. */
const SECTIONS = `1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4 5.1:1 5.2:3
  5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1 8.4:1 9.1:3 9.2:4 10.1:2
  10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3 12.2:2 12.3:4 13.1:1 13.2:5 13.3:2 13.4:5
  14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2`;

const required = SECTIONS.split(/\s+/).flatMap((entry) => {
  const [section, count] = entry.split(':') as [string, string];
  return Array.from({ length: Number(count) }, (_, index) => `${section}.${index + 1}`);
});

const rowsOf = async () =>
  [...(await readFile(new URL('docs/asvs.md', root), 'utf8')).matchAll(/^\| (\d[^|]*) \| ([^|]*) \| (.*) \|$/gm)].map(
    ([, numbers = '', status = '', evidence = '']) => ({ numbers, status, evidence }),
  );

/** `1.2.6–1.2.8, 1.3.1` as single numbers. */
const expanded = (numbers: string) =>
  numbers.split(', ').flatMap((part) => {
    const [first = '', last = first] = part.split('–');
    const section = first.slice(0, first.lastIndexOf('.'));
    const [from, to] = [first, last].map((number) => Number(number.split('.').at(-1))) as [number, number];
    return Array.from({ length: to - from + 1 }, (_, index) => `${section}.${from + index}`);
  });

it('judges every requirement of levels 1 and 2 once', async () => {
  const judged = (await rowsOf()).flatMap(({ numbers }) => expanded(numbers));
  expect(required).toHaveLength(253);
  expect(judged.toSorted()).toEqual(required.toSorted());
});

it('names files that are there, and one for everything that is met', async () => {
  const faults: string[] = [];
  for (const { numbers, status, evidence } of await rowsOf()) {
    if (!['met', 'partly', 'open', 'n/a'].includes(status)) faults.push(`${numbers}: the status is ${status}`);
    const named = [...evidence.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
    const files = named.filter((name) =>
      /^(src|test|docs)(\/|$)|^(Dockerfile|docker-compose\.yml|tsconfig\.json|\.dockerignore)$/.test(name),
    );
    if (status === 'met' && files.length === 0) faults.push(`${numbers}: names no file`);
    for (const file of files) await access(new URL(file, root)).catch(() => faults.push(`${numbers}: there is no ${file}`));
  }
  expect(faults).toEqual([]);
});
