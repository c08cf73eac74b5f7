import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { MASK } from '../../src/contracts/mcps.ts';
import { SECRET_NAME } from '../../src/domain/secrets.ts';
import { secretSpellings } from '../../src/domain/spellings.ts';
import { keyRing } from '../../src/store/secrets/key-ring.ts';
import { configSealer } from '../../src/store/secrets/sealed-config.ts';

/** Names as other services spell them, with the word that gives each away. */
const NAMES: Record<string, string[]> = {
  token: ['token', 'access_token', 'refreshToken', 'X-Auth-Token', 'BOT_TOKEN'],
  key: ['key', 'api_key', 'apiKey', 'APIKEY', 'X-Api-Key', 'private_key', 'privateKey', 'sslkey'],
  secret: ['secret', 'client_secret', 'clientSecret', 'SECRET'],
  passw: ['password', 'PGPASSWORD', 'db_passwd', 'userPassword'],
  passphrase: ['passphrase', 'key_passphrase', 'sslPassphrase'],
  passcode: ['passcode'],
  pwd: ['pwd', 'MYSQL_PWD', 'Pwd'],
  credential: ['credential', 'credentials', 'awsCredentials'],
  authorization: ['authorization', 'Authorization', 'Proxy-Authorization'],
  bearer: ['bearer', 'bearerValue'],
  cookie: ['cookie', 'Set-Cookie', 'sessionCookie'],
  signature: ['signature', 'X-Signature'],
};
const NAMED = Object.values(NAMES).flat();

/** Names that only look similar: their values stay readable. */
const PLAIN = ['name', 'url', 'path', 'command', 'author', 'passive', 'collection', 'table', 'user', 'host', 'mode'];

/** A token of a known make, by how it begins. */
const MAKES = ['ghp_', 'gho_', 'ghs_', 'github_pat_', 'glpat-', 'sk-', 'xoxb-', 'xoxp-', 'AKIA', 'eyJ'];

const CANARY = 'CANARY-4711';
const sealer = configSealer(keyRing(`a:${randomBytes(32).toString('base64')}`), 'place');
const hidden = (config: object) => {
  const sealed = sealer.seal(config);
  expect(sealer.open(sealed)).toEqual(config);
  return !JSON.stringify([sealed, sealer.mask(sealed)]).includes('CANARY');
};

it('has a name here for each word that gives a secret away', () => {
  expect(Object.keys(NAMES)).toEqual(SECRET_NAME.source.split('|'));
});

describe.each(NAMED)('a value named %s is hidden', (name) => {
  it.each<[string, object]>([
    ['as a field', { [name]: CANARY }],
    ['further in', { auth: [{ [name]: CANARY }] }],
    ['with everything below it', { [name]: { value: CANARY } }],
    ['in the query of a URL', { url: `https://x.example/mcp?a=1&${name}=${CANARY}` }],
    ['as a flag', { args: [`--${name}=${CANARY}`] }],
    ['after a flag', { args: [`--${name}`, CANARY] }],
  ])('%s', (_, config) => expect(hidden(config)).toBe(true));

  it('when a JSON value of a stored token holds it', () => {
    expect(secretSpellings(JSON.stringify({ [name]: CANARY, project: 'plain-project' }))).toContain(CANARY);
  });
});

it.each(MAKES)('a token that begins with %s is hidden in any place', (make) => {
  expect(hidden({ anything: `${make}CANARY0123456789` })).toBe(true);
});

it.each(PLAIN)('a value named %s stays readable', (name) => {
  const config = { [name]: 'plain', args: [`--${name}=plain`, `--${name}`, 'plain'], url: `https://x.example/?${name}=1` };
  expect(sealer.seal(config)).toEqual(config);
  expect(JSON.stringify(sealer.mask(sealer.seal(config)))).not.toContain(MASK);
});
