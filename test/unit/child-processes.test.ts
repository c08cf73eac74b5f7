import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const SCRIPT = `
  const { spawn } = await import('node:child_process');
  const { childOf } = await import(process.argv[1]);
  const child = childOf(spawn(process.execPath, ['--eval', '0'], { stdio: 'ignore' }));
  const failure = await child.prints(/ready/).catch((error) => error.message);
  console.log(JSON.stringify([failure, process.getActiveResourcesInfo().includes('Timeout')]));
`;

it('a child that ends before it is ready leaves no timer behind, which would keep its parent alive', () => {
  const module = new URL('../support/machine/processes.ts', import.meta.url).href;
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', SCRIPT];
  const printed = execFileSync(process.execPath, [...flags, module], { encoding: 'utf8' });
  expect(JSON.parse(printed)).toEqual(['it ended with 0:\n', false]);
});
