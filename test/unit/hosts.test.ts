import { expect, it } from 'vitest';
import { hostRule, originRule } from '../../src/domain/hosts.ts';

const own = hostRule({ listening: '127.0.0.1', names: ['perdura.example', '*.inner.example'] });
const everywhere = hostRule({ listening: '0.0.0.0' });

it.each(['localhost', 'LOCALHOST:8080', 'localhost.', '127.0.0.1:1', '[::1]:8080', 'perdura.example:443', 'a.b.inner.example'])(
  'answers to %s',
  (host) => {
    expect(own(host)).toBe(true);
  },
);

it.each([
  undefined,
  '',
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'perdura.example.evil.example',
  'inner.example',
  'xinner.example',
  'evil.example/localhost',
  'localhost@evil.example',
  'evil.example@localhost',
  'localhost evil.example',
  'evil.example#localhost',
  '10.0.0.1',
  '[::2]',
])('does not answer to %s', (host) => {
  expect(own(host)).toBe(false);
});

it('answers to any address when it listens on all of them, and still to no name', () => {
  expect(['10.1.2.3:8080', '[fd00::1]', 'localhost'].map(everywhere)).toEqual([true, true, true]);
  expect(['evil.example', '10.0.0.1.evil.example'].map(everywhere)).toEqual([false, false]);
  expect(hostRule({ listening: '192.168.1.7' })('192.168.1.7:8080')).toBe(true);
});

it('judges where a page is from by the same names', () => {
  const from = originRule(own);
  expect([undefined, 'http://localhost:3000', 'https://perdura.example'].map(from)).toEqual([true, true, true]);
  expect(['null', '', 'http://evil.example', 'file://'].map(from)).toEqual([false, false, false, false]);
});
