import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { clearCheckouts, makeCheckout, startPerdura } from '../support/machine/checkout.ts';

describe('bin/perdura.mjs', { timeout: 30_000 }, () => {
  afterEach(clearCheckouts);

  it('installs only at the first start, and reports it', async () => {
    const root = await makeCheckout();
    const first = await startPerdura(root, 'dev', '--port', '1 2').ended;
    expect(first).toMatchObject({
      code: 0,
      out: '["dev","--port","1 2"]\n',
      err: expect.stringContaining('Installing packages … done'),
    });
    expect(await startPerdura(root, 'dev').ended).toEqual({ code: 0, out: '["dev"]\n', err: '' });
  });

  it('passes signals on and returns the exit code', async () => {
    const root = await makeCheckout(
      "process.once('SIGTERM', () => process.exit(7)); console.log('up'); setInterval(() => {}, 1000);",
    );
    await rm(join(root, '.perdura'), { recursive: true, force: true });
    const { child, ended } = startPerdura(root, 'dev');
    await once(child.stdout!, 'data');
    child.kill('SIGTERM');
    expect((await ended).code).toBe(7);
  });
});
