import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import command from '../../src/main/commands/tools.ts';
import { readConfig } from '../../src/main/config.ts';
import { toolsPython } from '../../src/main/wiring/tool-runner.ts';
import { installToolPackages, startToolRunner } from '../../src/toolrunner/index.ts';
import type { PythonToolRunner } from '../../src/toolrunner/python-tool-runner.ts';

/** Small, of Python alone, and without dependencies. */
const PACKAGE = 'inflection==0.5.1';
const SOURCE = 'import inflection\ndef many(word: str) -> str:\n    return inflection.pluralize(word)\n';

let home: string;
let runner: PythonToolRunner;
const lines: string[] = [];
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-packages-'));
  const { python } = await installToolPackages({ home, packages: [] });
  runner = await startToolRunner({ python, log: (line) => lines.push(line) });
}, 120_000);
afterAll(async () => {
  await runner?.close();
  await rm(home, { recursive: true, force: true });
});

const pluralOf = (word: string) =>
  runner.run({ source: SOURCE, name: 'many', arguments: { word }, env: {}, call_key: 'k' }, new AbortController().signal);

it('`perdura tools install` gives packages to custom tools, also those of a running service', async () => {
  expect(await pluralOf('ox')).toMatchObject({ error: expect.stringContaining('inflection') });
  await command(readConfig({ PERDURA_HOME: home }), ['install', PACKAGE]);
  await expect.poll(() => pluralOf('ox'), { interval: 1_000 }).toMatchObject({ result: '{"result": "oxen"}', error: null });
  // The runner checks for changes during some calls, and then restarts its interpreter.
  const fresh = async () => [await pluralOf('ox'), lines.join()].at(1);
  await expect.poll(fresh, { interval: 1_000 }).toContain('packages changed, starting afresh');
  expect(await pluralOf('person')).toMatchObject({ result: '{"result": "people"}' });
  expect(await toolsPython(readConfig({ PERDURA_HOME: home }))).toBe(join(home, 'tools-venv/bin/python'));
}, 120_000);

it('leaves no half-made environment behind, and reports why there is none', async () => {
  const elsewhere = await mkdtemp(join(home, 'elsewhere-'));
  await mkdir(join(elsewhere, 'tools-venv'));
  await writeFile(join(elsewhere, 'tools-venv/lib'), 'in the way');
  const install = () => installToolPackages({ home: elsewhere, packages: [] });
  await expect(install()).rejects.toThrow(/The environment for tools could not be made: .*tools-venv\/lib/s);
  expect(await install()).toMatchObject({ is_new: true });
  expect(await install()).toMatchObject({ is_new: false });
}, 120_000);

it('says what it cannot install, and takes no options for packages', async () => {
  const config = readConfig({ PERDURA_HOME: home });
  await expect(command(config, ['install', '--index-url=http://elsewhere'])).rejects.toThrow('There is no option --index-url');
  await expect(command(config, ['install', '!inflection'])).rejects.toThrow('"!inflection" is not the name of a package');
  await expect(command(config, ['install', 'inflection==0.0.0.999'])).rejects.toThrow(/Installing inflection.* failed/);
  await expect(command(config, ['install'])).rejects.toThrow('The package is missing');
  await expect(command(config, [])).rejects.toThrow('Write install after perdura tools');
}, 120_000);
