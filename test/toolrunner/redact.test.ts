import { describe, expect, it } from 'vitest';
import { redactor } from '../../src/toolrunner/redact.ts';

describe('redaction', () => {
  it('leaves values shorter than six characters, which would match by chance', () => {
    expect(redactor(['12345']).text('12345')).toBe('12345');
  });
  it('keeps the result JSON when a secret looks like a number', () => {
    expect(redactor(['123456']).json('{"a": 1234567, "b": [123456]}')).toBe('{"a":"[redacted]7","b":["[redacted]"]}');
  });
  it('keeps the result JSON when a secret looks like syntax', () => {
    expect(redactor(['": ["x']).json('{"a": ["x"], "b": 1}')).toBe('{"a":["x"],"b":1}');
  });
  it('takes out a secret that the output limit cut in two', () => {
    expect(redactor(['longsecret']).output('see longsec', 70_000)).toBe('see [redacted]');
    expect(redactor(['longsecret']).output('see longsec', 11)).toBe('see longsec');
  });
  it('finds it in a URL, in base64 and with white space around it', () => {
    const secret = ' a/b+c d\n';
    const text = ['a/b+c d', encodeURIComponent('a/b+c d'), Buffer.from('a/b+c d').toString('base64')].join(' | ');
    expect(redactor([secret]).text(text)).toBe('[redacted] | [redacted] | [redacted]');
  });
});
