import { describe, expect, it } from 'vitest';
import { readConfig } from '../../src/main/config.ts';

describe('a setting with a value that is not valid', () => {
  it.each([
    ['PERDURA_PORT', 'web', 'PERDURA_PORT=web is not valid: expected a number'],
    ['PERDURA_PORT', '80.5', 'PERDURA_PORT=80.5 is not valid: expected a whole number'],
    ['PERDURA_PORT', '70000', 'PERDURA_PORT=70000 is not valid: expected at most 65535'],
    ['DATABASE_POOL_SIZE', '1', 'DATABASE_POOL_SIZE=1 is not valid: expected at least 2'],
    ['EGRESS_MESSAGE_MB', '0', 'EGRESS_MESSAGE_MB=0 is not valid: expected more than 0'],
    ['LOG_LEVEL', 'loud', 'LOG_LEVEL=loud is not valid: expected trace, debug, info, warn, error, silent'],
    [
      'BASH_NETWORK',
      'maybe',
      'BASH_NETWORK=maybe is not valid: expected true, 1, yes, on, y, enabled, false, 0, no, off, n, disabled',
    ],
    ['OPENAI_BASE_URL', 'models', 'OPENAI_BASE_URL=models is not valid: expected a URL such as https://host.example'],
    [
      'DATABASE_URL',
      'notaurl',
      'DATABASE_URL=notaurl is not valid: expected a URL such as postgresql://user:password@host:5432/database',
    ],
    ['DATABASE_URL', 'mysql://u:hidden@db/x', 'DATABASE_URL=mysql://…@db/x is not valid: expected a URL such as postgresql://'],
    ['REDIS_URL', 'redis+sentinel://a:1', 'REDIS_URL=redis+sentinel://a:1 is not valid: expected redis://host:6379 or'],
    ['REDIS_URL', 'redis://:hidden/hunter2@redis:6379', 'REDIS_URL=redis://…@redis:6379 is not valid'],
    ['TEMPORAL_ADDRESS', 'http://temporal:7233', 'TEMPORAL_ADDRESS=http://temporal:7233 is not valid: expected host:port'],
    ['MCP_PATHS', 'data', 'MCP_PATHS=data is not valid: expected absolute paths'],
    ['WEBHOOK_SECRET', 'hunter2', 'WEBHOOK_SECRET is not valid: expected whsec_'],
  ])('%s=%s is refused in one sentence', (name, value, sentence) => {
    const refusal = refusalOf({ [name]: value });
    expect(refusal).toContain(sentence);
    expect(refusal).not.toContain('\n');
    expect(refusal).not.toMatch(/hidden|hunter2/);
  });

  it.each([
    ['smtp:', 'SMTP_URL=smtp: is not valid: expected smtp://user:password@host:587 or'],
    ['smtp://u:hidden%s@mail:25', 'SMTP_URL=smtp://…@mail:25 is not valid: expected smtp://user:password@host:587 or'],
    ['smtp://u:hidden@hunter2@mail:x', 'SMTP_URL=smtp://…@mail:x is not valid: expected smtp://user:password@host:587 or'],
  ])('is refused without its password: SMTP_URL=%s', (SMTP_URL, sentence) => {
    const refusal = refusalOf({ SMTP_URL, SMTP_FROM: 'alerts@example.com' });
    expect(refusal).toContain(sentence);
    expect(refusal).not.toMatch(/hidden|hunter2/);
    expect(readConfig({ SMTP_URL: 'smtp://u:50%25@mail', SMTP_FROM: 'a@example.com' }).SMTP_URL).toBe('smtp://u:50%25@mail');
  });

  it('is named if it is missing', () => {
    expect(refusalOf({ SMTP_URL: 'smtp://mail' })).toBe(
      'SMTP_FROM is not set: expected the address from which SMTP_URL sends, such as alerts@example.com',
    );
  });

  it('is named next to every other one', () => {
    expect(refusalOf({ PERDURA_PORT: 'web', LOG_LEVEL: 'loud' }).split('\n')).toHaveLength(2);
  });

  function refusalOf(env: Record<string, string>): string {
    try {
      readConfig(env);
    } catch (error) {
      return (error as Error).message;
    }
    throw new Error('it was accepted');
  }
});

it('accepts addresses in every form that the servers accept', () => {
  const addressOf = (TEMPORAL_ADDRESS: string) => readConfig({ TEMPORAL_ADDRESS }).TEMPORAL_ADDRESS;
  expect(addressOf('temporal.internal:7233')).toBe('temporal.internal:7233');
  expect(addressOf('temporal.internal')).toBe('temporal.internal:7233');
  expect(addressOf('[::1]:7233')).toBe('[::1]:7233');
  expect(readConfig({ DATABASE_URL: 'postgres:///db?host=/run/postgresql' }).DATABASE_URL).toContain('/run/postgresql');
  expect(readConfig({ REDIS_URL: 'rediss://:secret@redis:6380' }).REDIS_URL).toBe('rediss://:secret@redis:6380');
});

it('counts an empty variable as unset', () => {
  expect(readConfig({ PERDURA_PORT: '', LOG_LEVEL: '' })).toEqual(readConfig({}));
});
