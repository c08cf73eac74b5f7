import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { stripVTControlCharacters } from 'node:util';

/** Prints the tables of docs/testing.md from what `.ci/run`, `npm test` or Vitest has printed: `node test/support/harness/times.ts LOG…` */
const LINE = /^ *\S +(main|rest|chaos) +test\/(\w+)\/(\S+)\.test\.ts \((\d+) tests?.*\) *(\d+)ms$/;
const text = stripVTControlCharacters(
  process.argv
    .slice(2)
    .map((log) => readFileSync(log, 'utf8'))
    .join('\n'),
);
const files = text.split('\n').flatMap((line) => {
  const [, project = '', folder = '', name = '', tests, ms] = LINE.exec(line) ?? [];
  return ms ? [{ project, folder, name, tests: Number(tests), seconds: Number(ms) / 1_000 }] : [];
});
const sum = (numbers: number[]) => Math.round(numbers.reduce((one, other) => one + other, 0));
for (const [project, own] of Map.groupBy(files, (file) => file.project)) {
  console.log(`\n\`${project}\`: ${own.length} files, ${sum(own.map(({ seconds }) => seconds))} seconds`);
  console.log('\n| folder | files | tests | seconds | longest files |\n|---|---|---|---|---|');
  const folders = [...Map.groupBy(own, (file) => file.folder)].map(([folder, all]) => {
    const longest = all.toSorted((one, other) => other.seconds - one.seconds).slice(0, 2);
    const named = longest.map(({ name, seconds }) => `\`${basename(name)}\` ${Math.round(seconds)}`).join(', ');
    return { seconds: sum(all.map(({ seconds }) => seconds)), folder, all, named };
  });
  for (const { folder, all, seconds, named } of folders.toSorted((one, other) => other.seconds - one.seconds))
    console.log(`| \`${folder}\` | ${all.length} | ${sum(all.map(({ tests }) => tests))} | ${seconds} | ${named} |`);
}
