import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MASK } from '../../src/contracts/mcps.ts';
import { fillTokens, listTokenNames } from '../../src/domain/secrets.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { configSealer } from '../../src/store/secrets/sealed-config.ts';

const key = () => randomBytes(32).toString('base64');
const [first, second] = [`a:${key()}`, `b:${key()}`];
const sealer = configSealer(keyRing(first), 'place');

describe('a configuration', () => {
  it.each([
    ['a header', { headers: { 'X-Anything': 'CANARY' } }],
    ['a variable', { env: { HARMLESS: 'CANARY' } }],
    ['a field named like a secret', { api_key: 'CANARY', nested: { Password: 'CANARY' } }],
    ['an argument with a key', { args: ['--token=CANARY', '--api-key', 'CANARY'] }],
    ['a URL with a password', { url: 'postgres://user:CANARY@db.example/x' }],
    ['a URL with a key', { url: 'https://x.example/mcp?apikey=CANARY' }],
    ['a token of a known make', { anything: 'ghp_CANARY0123456789' }],
  ])('hides %s, and gives it back to those who connect', (_, config) => {
    const sealed = sealer.seal(config);
    expect(JSON.stringify([sealed, sealer.mask(sealed)])).not.toContain('CANARY');
    expect(JSON.stringify(sealer.mask(sealed))).toContain(MASK);
    expect(sealer.open(sealed)).toEqual(config);
  });

  it('leaves other values and references to stored tokens readable', () => {
    const config = { command: 'npx', args: ['-y', 'files-mcp'], env: { KEY: '{{token:files}}' }, url: 'https://x.example/mcp' };
    expect(sealer.seal(config)).toEqual(config);
    expect(listTokenNames(config)).toEqual(['files']);
    expect(fillTokens('Bearer {{token:files}}', new Map([['files', 'x']]))).toBe('Bearer x');
  });

  it('opens nowhere but in its own place', () => {
    const sealed = sealer.seal({ api_key: 'CANARY' });
    expect(() => configSealer(keyRing(first), 'elsewhere').open(sealed)).toThrow();
  });

  it('is sealed again when the key changes', () => {
    const sealed = sealer.seal({ api_key: 'CANARY' });
    const next = configSealer(keyRing(`${second},${first}`), 'place');
    const renewed = next.renew(sealed);
    expect(configSealer(keyRing(second), 'place').open(renewed)).toEqual({ api_key: 'CANARY' });
    expect(next.renew(renewed)).toBeNull();
  });
});
