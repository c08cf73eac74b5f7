import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { keepFile, readJsonFile, readTail, replaceFile, trimLog } from '../../src/embedded/files.ts';
import { encryptionKey, localToken } from '../../src/embedded/local-identity.ts';
import { formatGreeting } from '../../src/main/commands/dev.ts';
import { type Config, onlyCallsTools, readConfig } from '../../src/main/config.ts';
import { createHomeMark, requestRestore } from '../../src/main/home-mark.ts';
import { createResources } from '../../src/main/resources.ts';
import { createIdentityChecks, describeKeySource, findLocalPrincipal, listAdministrators } from '../../src/main/setting.ts';
import { listInstallationSecrets } from '../../src/main/wiring/secret-scope.ts';

let home: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-home-'));
});
afterEach(() => rm(home, { recursive: true, force: true }));

describe('what an installation holds open', () => {
  it('is closed last first, each once, although some of it fails', async () => {
    const closed: string[] = [];
    const failures: string[] = [];
    const resources = createResources((error) => void failures.push((error as Error).message));
    for (const name of ['database', 'engine', 'api'])
      resources.hold(name, async (it) => {
        await new Promise(setImmediate);
        closed.push(it);
        if (it === 'engine') throw new Error('It does not answer');
      });
    await resources.close();
    await resources.close();
    expect([closed, failures]).toEqual([['api', 'engine', 'database'], ['It does not answer']]);
  });
});

it('an installation says where its parts are, also if the Temporal is not its own', () => {
  const urls = {
    api_url: 'http://127.0.0.1:7',
    dashboard_url: 'http://127.0.0.1:7/dashboard',
    docs_url: 'http://127.0.0.1:7/docs',
  };
  const show = (temporal_ui_url: string | null) =>
    formatGreeting({ ...urls, temporal_ui_url, token_file: '/home/token' } as Parameters<typeof formatGreeting>[0]);
  expect(show('http://127.0.0.1:11')).toContain('Temporal UI   http://127.0.0.1:11\n  Access token  /home/token\n');
  expect(show(null)).toContain('Temporal UI   where you run it\n');
});

describe('the mark of a home', () => {
  const MARK = { installation: '0197a0c4-6b1e-7c3a-9f57-0d2c5a1be001', epoch: 3, beat: 7 };
  const mark = (path: string, holds_record = true) => createHomeMark(path, { holds_record });

  it('is what was written last, in a file of its owner alone', async () => {
    expect(await mark(home).read()).toEqual({ mark: null, was_copied: false, was_restored: false });
    await mark(home).write(MARK);
    await mark(home).write({ ...MARK, beat: 11 });
    expect(await mark(home).read()).toEqual({ mark: { ...MARK, beat: 11 }, was_copied: false, was_restored: false });
    expect([await readdir(home), (await stat(join(home, 'epoch.json'))).mode & 0o777]).toEqual([['epoch.json'], 0o600]);
  });

  it('knows a copy of the home from one that was moved, unless another database holds the record', async () => {
    await mark(home).write(MARK);
    const [moved, copy] = [`${home}-moved`, `${home}-copy`];
    try {
      await cp(home, copy, { recursive: true });
      await rename(home, moved);
      expect(await mark(copy).read()).toMatchObject({ mark: MARK, was_copied: true });
      expect(await mark(moved).read()).toMatchObject({ mark: MARK, was_copied: false });
      expect(await mark(copy, false).read()).toMatchObject({ mark: MARK, was_copied: false });
    } finally {
      for (const path of [moved, copy]) await rm(path, { recursive: true, force: true });
    }
  });

  it('that does not name its file is not taken for a copy', async () => {
    await writeFile(join(home, 'epoch.json'), JSON.stringify(MARK));
    expect(await mark(home).read()).toMatchObject({ mark: MARK, was_copied: false });
  });

  it('keeps the request for a new epoch until that has begun', async () => {
    await mark(home).write(MARK);
    await requestRestore(home);
    expect(await mark(home).read()).toMatchObject({ mark: MARK, was_restored: true });
    expect(await mark(home, false).read()).toMatchObject({ was_restored: false });
    await mark(home).write({ ...MARK, epoch: 4 });
    expect(await mark(home).read()).toMatchObject({ mark: { epoch: 4 }, was_restored: false });
  });
});

describe('a file of the home', () => {
  const path = (name: string) => join(home, name);

  it('that never changes is made once, and closed to others', async () => {
    let made = 0;
    const make = () => `secret ${++made}`;
    expect(await keepFile(path('a'), make)).toEqual({ text: 'secret 1', created: true });
    await chmod(path('a'), 0o644);
    expect(await keepFile(path('a'), make)).toEqual({ text: 'secret 1', created: false });
    expect((await stat(path('a'))).mode & 0o777).toBe(0o600);
    expect(await readdir(home)).toEqual(['a']);
  });

  it('is replaced as a whole, and one that a crash tore counts as missing', async () => {
    await replaceFile(path('deep/b'), '{"a":7}');
    await replaceFile(path('deep/b'), '{"a":11}');
    expect([await readJsonFile(path('deep/b')), await readdir(path('deep'))]).toEqual([{ a: 11 }, ['b']]);
    await writeFile(path('deep/b'), '{"a":');
    expect([await readJsonFile(path('deep/b')), await readJsonFile(path('none'))]).toEqual([undefined, undefined]);
    await expect(readJsonFile(home)).rejects.toThrow('EISDIR');
  });

  it('with a log is shown from its end, and emptied once it is too large', async () => {
    await writeFile(path('log'), 'one\ntwo\nthree\n\n');
    expect([await readTail(path('log'), 2), await readTail(path('none'), 2)]).toEqual(['two\nthree', '']);
    await trimLog(path('log'), 15);
    expect(await readFile(path('log'), 'utf8')).toContain('one');
    await trimLog(path('log'), 14);
    expect(await readFile(path('log'), 'utf8')).toBe('');
    await trimLog(path('none'), 1);
    expect(await readdir(home)).toEqual(['log']);
  });

  it('with a key is neither replaced nor taken if it is another one', async () => {
    const sealed = () => encryptionKey(home, async () => true);
    await expect(sealed()).rejects.toThrow(/encryption-key is missing, and the database holds values sealed/);
    expect(await readdir(home)).toEqual([]);
    await writeFile(path('encryption-key'), Buffer.alloc(31, 7).toString('base64'));
    await expect(sealed()).rejects.toThrow('does not hold 32 bytes in base64');
    const key = Buffer.alloc(32, 7).toString('base64');
    await writeFile(path('encryption-key'), `${key}\n`);
    expect(await sealed()).toMatchObject({ key, created: false });
  });
});

describe('who may sign in', () => {
  const read = (env: Record<string, string>): Config => readConfig({ PERDURA_HOME: home, ...env });

  it.each(['github,local', 'local,github', 'gitlab,github,local'])('with %s is asked here first', async (IDENTITY_PROVIDERS) => {
    const [first] = await createIdentityChecks(read({ IDENTITY_PROVIDERS }), 'github');
    const { token } = await localToken(home);
    expect(await first!(token)).toMatchObject({ provider: 'local', login: 'local' });
  });

  it('is decided by the setting, and else by the kind of the installation', async () => {
    expect(await createIdentityChecks(read({}), 'local')).toHaveLength(1);
    await expect(createIdentityChecks(read({ IDENTITY_PROVIDERS: 'gitea,bitbucket' }), 'local')).rejects.toThrow(
      'IDENTITY_PROVIDERS: bitbucket is not one of github, gitlab, gitea, oidc, local',
    );
    const oidc = { IDENTITY_PROVIDERS: 'oidc', OIDC_ISSUER: 'https://id.example' };
    await expect(createIdentityChecks(read(oidc), 'local')).rejects.toThrow('set OIDC_ISSUER and OIDC_AUDIENCE');
    expect(await createIdentityChecks(read({ ...oidc, OIDC_AUDIENCE: 'perdura' }), 'local')).toHaveLength(1);
  });

  it('with the token of the home administers an installation that names nobody else', () => {
    const people = (env: Record<string, string>) => [findLocalPrincipal(read(env))?.login ?? null, listAdministrators(read(env))];
    expect(people({})).toEqual(['local', ['local:local']]);
    expect(people({ IDENTITY_PROVIDERS: 'github,local' })).toEqual(['local', ['local:local']]);
    expect(people({ IDENTITY_PROVIDERS: 'github' })).toEqual([null, []]);
    expect(people({ ADMIN_SUBJECTS: 'github:7' })).toEqual(['local', ['github:7']]);
  });
});

describe('the settings of a process', () => {
  it.each([
    ['', false],
    ['true', true],
    ['2', 2],
    ['10.0.0.0/8, 127.0.0.1', '10.0.0.0/8, 127.0.0.1'],
  ])('TRUST_PROXY=%s is %j', (TRUST_PROXY, meaning) => expect(readConfig({ TRUST_PROXY }).TRUST_PROXY).toBe(meaning));

  it.each<[string, string[], boolean]>([
    ['all', ['runs', 'models', 'tools'], false],
    ['tools', ['tools'], true],
    ['tools, models', ['models', 'tools'], false],
    ['tools,all', ['runs', 'models', 'tools'], false],
  ])('WORKER_ROLE=%s is %j', (WORKER_ROLE, roles, only_tools) => {
    const config = readConfig({ WORKER_ROLE });
    expect([[...config.WORKER_ROLE], onlyCallsTools(config)]).toEqual([roles, only_tools]);
    expect(() => readConfig({ WORKER_ROLE: 'runs,robots' })).toThrow('robots is not one of runs, models, tools, all');
  });

  it('name the place of the key that is missing', () => {
    expect(describeKeySource(readConfig({ ENCRYPTION_KEYS: 'a:b' }))).toBe('ENCRYPTION_KEYS');
    expect(describeKeySource(readConfig({ PERDURA_HOME: '/home/p' }))).toBe('the key file /home/p/encryption-key');
  });

  it('have secrets of the operator, each of which is removed from what the installation writes', () => {
    const webhook = 'w'.repeat(40);
    const audit = 'a'.repeat(40);
    const config = readConfig({
      ...{ METRICS_TOKEN: 'metrics-token-7', OPENAI_API_KEY: 'openai-key-1234', OIDC_CLIENT_SECRET: 'oidc-secret-123' },
      ...{ S3_SECRET_ACCESS_KEY: 's3-secret-12345', AUDIT_WEBHOOK_SECRET: `whsec_${audit}` },
    });
    const setting = {
      config,
      encryption_keys: 'two:key-of-the-second, one:key-of-the-first-',
      webhook_secret: `whsec_${webhook}`,
    };
    const embeddings = { base_url: '', model: '', api_key: 'embeddings-key-1' };
    expect(listInstallationSecrets({ ...setting, embeddings } as never).sort()).toEqual(
      [
        ...['key-of-the-second', 'key-of-the-first-', webhook, `whsec_${webhook}`, audit, `whsec_${audit}`, 'embeddings-key-1'],
        ...['metrics-token-7', 'openai-key-1234', 'oidc-secret-123', 's3-secret-12345'],
      ].sort(),
    );
    const short = { ...setting, config: readConfig({ METRICS_TOKEN: 'short-token' }), embeddings: null };
    expect(listInstallationSecrets(short as never)).not.toContain('short-token');
  });
});
