import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { listOfCommands } from '../../src/main/help.mjs';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, it = '']) => it);

it('every alert has a runbook, and runbooks name no others', () => {
  const alerts = found(read('deploy/prometheus/alerts.yml'), /- alert: (\w+)/g);
  const named = found(read('docs/runbooks.md'), /`(Perdura[A-Z]\w+)`/g);
  expect([...new Set(named)].sort()).toEqual(alerts.sort());
});

it('runbooks call only endpoints and commands that exist', () => {
  const contracts = globSync('src/contracts/*.ts', { cwd: new URL('../../', import.meta.url) })
    .map(read)
    .join('\n');
  const text = read('docs/runbooks.md');
  const calls = [...text.matchAll(/curl -s (?:-X (POST) )?"\$URL(\/api[^"?]*)/g)];
  expect(calls.length).toBeGreaterThan(5);
  const endpoints = calls.map(([, method = 'GET', path = '']) => `'${method} ${path.replace(/\$[A-Z]+/g, '{}')}'`);
  const declared = contracts.replace(/\{\w+\}/g, '{}');
  expect(endpoints.filter((endpoint) => !declared.includes(endpoint))).toEqual([]);
  const commands = found(text, /^perdura ([\w-]+)/gm);
  expect(commands.filter((command) => !listOfCommands().includes(`\n  ${command} `))).toEqual([]);
});
