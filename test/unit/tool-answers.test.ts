import { describe, expect, it } from 'vitest';
import { createFailedAnswer, toAnswer } from '../../src/toolrunner/answer.ts';
import { type ChildFrame, createFrameReader } from '../../src/toolrunner/frame.ts';

const FRAME: ChildFrame = {
  ...{
    kind: 'returned',
    text: '{"result": 1}',
    message: '',
    exit: null,
    stdout: '',
    stderr: '',
    stdout_bytes: 0,
    stderr_bytes: 0,
  },
};
const answerOf = (frame: Partial<ChildFrame>, env: Record<string, string> = {}) => toAnswer({ ...FRAME, ...frame }, env, 17);
const MIB = 1_048_576;

describe('the answer of a tool', () => {
  it.each<[Partial<ChildFrame>, string]>([
    [{ kind: 'raised', text: '"wrong"' }, 'wrong'],
    [{ kind: 'raised', text: 'forged' }, 'forged'],
    [{ kind: 'raised', text: JSON.stringify('x'.repeat(8_001)) }, 'x'.repeat(8_000)],
    [{ kind: 'too_large' }, `the result is larger than ${MIB} bytes`],
    [{ kind: 'timed_out' }, 'timed out'],
    [{ kind: 'out_of_memory' }, 'out of memory'],
    [{ kind: 'too_many_processes' }, 'the tool started too many processes'],
    [{ kind: 'too_much_data' }, 'the tool wrote too much data'],
    [{ kind: 'refused', message: 'no such workspace' }, 'no such workspace'],
    [{ kind: 'ended', exit: 3 }, 'the tool process ended without a result (exit code 3)'],
    [{ kind: 'ended', exit: 0 }, 'the tool process ended without a result (exit code 0)'],
    [{ kind: 'ended', exit: -9 }, 'the tool process was ended by signal 9'],
    [{ kind: 'ended' }, 'the tool process ended without a result'],
    [{ kind: 'anything else' }, 'the tool returned invalid data'],
    [{ text: '[1]' }, 'the tool returned invalid data'],
    [{ text: 'null' }, 'the tool returned invalid data'],
    [{ text: '{"a":' }, 'the tool returned invalid data'],
    [{ text: `{"a":"${'x'.repeat(MIB)}"}` }, `the result is larger than ${MIB} bytes`],
  ])('to %j is a failure in words', (frame, error) => {
    expect(answerOf(frame)).toMatchObject({ result: JSON.stringify({ error }), error, duration_ms: 17 });
  });

  it('is the text that the tool returned, to the last digit, as far as a database can hold it', () => {
    const text = `{"n": 1208925819614629174706176, "s": "${'x'.repeat(MIB - 46)}"}`;
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MIB);
    expect(answerOf({ text })).toMatchObject({ result: text, error: null });
    const odd = String.raw`{"a": "\u0000 \ud800 \\u0000 \ud83d\ude00 \uDFFF"}`;
    const even = '{"a": "\ufffd \ufffd \\\\u0000 \\ud83d\\ude00 \ufffd"}';
    expect(answerOf({ text: odd }).result).toBe(even);
  });

  it('has no secret of the call, wherever it was printed or returned, also one that was cut', () => {
    const env = { KEY: 'abcdefghij' };
    const answer = answerOf(
      { text: '{"abcdefghij": "is abcdefghij"}', stdout: 'ok', stdout_bytes: 2, stderr: 'x abcdef', stderr_bytes: 12 },
      env,
    );
    expect(answer).toMatchObject({ result: '{"[redacted]": "is [redacted]"}', stdout: 'ok', stderr: 'x [redacted]' });
    expect(answerOf({ stdout: 'abcdefghij', stdout_bytes: 10 }, env).stdout).toBe('[redacted]');
    expect(answerOf({ stderr: 'x abcdef', stderr_bytes: 8 }, env).stderr).toBe('x abcdef');
    expect(answerOf({ kind: 'raised', text: '"no abcdefghij"' }, env)).toMatchObject({
      error: 'no [redacted]',
      result: '{"error":"no [redacted]"}',
    });
  });

  it('to a call that reached no tool is its reason', () => {
    expect(createFailedAnswer('too late')).toEqual({
      ...{ result: '{"error":"too late"}', error: 'too late', duration_ms: 0, stdout: '', stderr: '' },
    });
  });
});

const HEAD = { kind: 'returned', exit: null, message: '', sizes: [2, 3, 5], stdout_bytes: 11, stderr_bytes: 13 };
const frameBytes = (head: object = {}, body = 'aabbbccccc') => Buffer.from(`${JSON.stringify({ ...HEAD, ...head })}\n${body}`);

/** Reads bytes in pieces of this size; null: they cannot become a frame. */
function read(bytes: Buffer, size: number) {
  const reader = createFrameReader();
  for (let at = 0; at < bytes.length; at += size) if (!reader.add(bytes.subarray(at, at + size))) return null;
  return reader.frame();
}

describe('the frame of a supervisor', () => {
  it.each([1, 2, 7, 1_000])('is read in pieces of %i bytes, each part by its size', (size) => {
    const { sizes: _, ...rest } = HEAD;
    expect(read(frameBytes(), size)).toEqual({ ...rest, text: 'aa', stdout: 'bbb', stderr: 'ccccc' });
    expect(read(frameBytes({ sizes: [6, 0, 3] }, 'größ€'), size)).toMatchObject({ text: 'größ', stdout: '', stderr: '€' });
  });

  it('is not there before its last byte', () => {
    const reader = createFrameReader();
    expect([reader.add(frameBytes().subarray(0, -1)), reader.frame()]).toEqual([true, null]);
    reader.add(Buffer.from('c'));
    expect(reader.frame()).toMatchObject({ stderr: 'ccccc' });
  });

  it.each([
    ['sizes of another number', { sizes: [2, 3] }],
    ['a size below zero', { sizes: [2, -3, 5] }],
    ['a size that is no number', { sizes: [2, '3', 5] }],
    ['a size beyond what a supervisor sends', { sizes: [1_048_577, 65_536, 65_536] }],
    ['a count that is no number', { stdout_bytes: null }],
    ['a count below zero', { stderr_bytes: -1 }],
    ['no kind', { kind: undefined }],
    ['a message that is no text', { message: 7 }],
  ])('is refused with %s', (_, head) => {
    expect(createFrameReader().add(frameBytes(head))).toBe(false);
  });

  it('may be as large as a supervisor sends, with a beginning of 16 KiB at most', () => {
    const sizes = [1_048_576, 65_536, 65_536];
    const body = 'x'.repeat(sizes[0]! + sizes[1]! + sizes[2]!);
    expect(read(frameBytes({ sizes }, body), 65_536)).toMatchObject({ stderr: 'x'.repeat(65_536) });
    expect(read(Buffer.from('x'.repeat(16_384)), 1_024)).toBeNull();
    expect(createFrameReader().add(Buffer.from('x'.repeat(16_384)))).toBe(true);
    expect(createFrameReader().add(Buffer.from('x'.repeat(16_385)))).toBe(false);
    expect(read(Buffer.from('no JSON\n'), 100)).toBeNull();
  });
});
