import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const FOLDER = fileURLToPath(new URL('../../deploy/systemd/', import.meta.url));
/** Where docs/operations.md installs the package. */
const PROGRAM = '/opt/perdura/node_modules/.bin/perdura';
const INSTANCE = 'perdura-worker@9464.service';
const files = readdirSync(FOLDER).filter((file) => /\.(service|target)$/.test(file));
const units = files.map((file) => file.replace('perdura-worker@.service', INSTANCE));
const analyze = spawnSync('systemd-analyze', ['--version']).status === 0;

const copies = mkdtempSync(join(tmpdir(), 'perdura-units-'));
files.forEach((file, index) => {
  const unit = readFileSync(join(FOLDER, file), 'utf8');
  writeFileSync(join(copies, units[index]!), unit.replace(PROGRAM, process.execPath));
});
afterAll(() => rmSync(copies, { recursive: true, force: true }));

function analysis(...args: string[]): string {
  const { stdout, stderr } = spawnSync('systemd-analyze', args, { cwd: copies, encoding: 'utf8' });
  return stdout + stderr;
}

describe.skipIf(!analyze)('the units for systemd', () => {
  it('have no faults that systemd-analyze knows', () => {
    expect(units).toContain(INSTANCE);
    expect(analysis('verify', '--man=no', ...units.map((unit) => `./${unit}`))).toBe('');
  });

  it.each(units.filter((unit) => unit.endsWith('.service')))('leave %s few rights', (unit) => {
    const exposure = /exposure level for \S+: ([\d.]+) OK/.exec(
      analysis('security', '--offline=true', '--no-pager', `./${unit}`),
    );
    expect(Number(exposure?.[1])).toBeLessThan(4.5);
  });
});
