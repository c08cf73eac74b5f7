import { describe, expect, it } from 'vitest';
import type { PinnedGuardrail } from '../../../src/domain/definition.ts';
import { createJudge, holdsBack } from '../../../src/guardrails/judge.ts';
import { createOutputGuards, createPromptCheck } from '../../../src/main/wiring/guardrails.ts';
import { jobs } from '../../../src/parsers/child/jobs.ts';
import { ParserFailure } from '../../../src/parsers/failure.ts';
import type { ParserPool } from '../../../src/parsers/pool.ts';

type Run = ParserPool['run'];
const asked: unknown[] = [];
/** The parser pool's own jobs, in this process. */
const here = {
  run: (async (name: keyof typeof jobs, input: never, rules: unknown) => {
    asked.push(rules);
    return jobs[name](input);
  }) as unknown as Run,
};
const failing = (error: Error) => ({ run: (() => Promise.reject(error)) as unknown as Run });
const LIMITS = { deadline_ms: 10, patience_ms: 20 };
const judge = createJudge(here, LIMITS);
const failingWith = (kind: ParserFailure['kind'], message = 'it took long') =>
  createJudge(failing(new ParserFailure(kind, message)), LIMITS);

const guardrail = (guardrail_type: string, config: Record<string, unknown>, name = guardrail_type): PinnedGuardrail => ({
  ...{ name, guardrail_type, config },
});
const noNumbers = guardrail('prompt', { forbidden_patterns: ['\\d'] }, 'no-numbers');
const short = guardrail('prompt', { max_length: 3 }, 'short');
const out = (config: Record<string, unknown>, name = 'out') => guardrail('output', config, name);

describe('a prompt', () => {
  it('is refused by the first guardrail that objects, by its name', async () => {
    expect(await judge.findRefusal([], '12345', 'o')).toBeNull();
    expect(await judge.findRefusal([noNumbers, short], 'abc', 'o')).toBeNull();
    expect(await judge.findRefusal([noNumbers, short], '12345', 'o')).toEqual({
      message: 'The guardrail no-numbers refuses this prompt: it matches the forbidden pattern \\d',
      code: 'guardrail_blocked',
    });
    expect(await judge.findRefusal([noNumbers, short], 'abcde', 'o')).toEqual({
      message: 'The guardrail short refuses this prompt: it has 5 characters, at most 3 are allowed',
      code: 'guardrail_blocked',
    });
  });

  it('is judged by guardrails for prompts and requests only', async () => {
    const request = guardrail('request', { json_schema: { type: 'object', required: ['a'] } });
    expect(await judge.listPromptReasons(out({ forbidden_patterns: ['.'] }), 'x', 'o')).toEqual({
      reasons: [],
      undecided: false,
    });
    expect(await judge.listPromptReasons(request, 'x', 'o')).toEqual({ reasons: ['it is not JSON'], undecided: false });
    expect(await judge.listPromptReasons(request, '{"a":1}', 'o')).toEqual({ reasons: [], undecided: false });
    expect((await judge.listPromptReasons(request, '{}', 'o')).reasons[0]).toMatch(/\ba\b/);
  });

  it('is judged for its owner, within the limits', async () => {
    asked.length = 0;
    await judge.findRefusal([noNumbers], 'x', 'alice');
    await judge.listConfigFaults({}, 'alice');
    await judge.judgeAnswer([out({})], 'x', { owner: 'alice' });
    expect(asked).toEqual([
      { owner: 'alice', ...LIMITS },
      { owner: 'alice', ...LIMITS },
      { owner: 'alice', deadline_ms: 10 },
    ]);
  });

  const SIMPLER = 'it could not be judged: it took long; simplify the guardrail or schema, or send a shorter text';
  it.each([
    ['timeout', SIMPLER],
    ['memory', SIMPLER],
    ['refused', 'it could not be judged: it took long'],
  ] as const)('that cannot be judged (%s) is refused', async (kind, reason) => {
    const unable = failingWith(kind);
    expect(await unable.findRefusal([noNumbers], 'x', 'o')).toEqual({
      message: `The guardrail no-numbers refuses this prompt: ${reason}`,
      code: 'guardrail_timeout',
    });
    expect(await unable.listPromptReasons(noNumbers, 'x', 'o')).toEqual({ reasons: [reason], undecided: true });
    expect(await unable.judgeAnswer([out({ action: 'redact' })], 'x', { owner: 'o' })).toEqual({
      findings: [{ guardrail: 'out', action: 'redact', reasons: [reason] }],
      text: null,
    });
    expect(await unable.listConfigFaults({}, 'o')).toEqual([{ path: 'config', message: reason }]);
  });

  it('is not judged while the service is busy, stopping or broken', async () => {
    await expect(failingWith('busy', 'try later').findRefusal([noNumbers], 'x', 'o')).rejects.toMatchObject({
      ...{ kind: 'too_many', code: 'parsers_busy', message: 'The service is parsing too much at once: try later' },
    });
    await expect(failingWith('ended').findRefusal([noNumbers], 'x', 'o')).rejects.toMatchObject({
      ...{ kind: 'unavailable', message: 'The service is stopping; try again shortly' },
    });
    const broken = createJudge(failing(new TypeError('broken')), LIMITS);
    await expect(broken.findRefusal([noNumbers], 'x', 'o')).rejects.toThrow('broken');
    await expect(broken.judgeAnswer([out({})], 'x', { owner: 'o' })).rejects.toThrow('broken');
    await expect(broken.listConfigFaults({}, 'o')).rejects.toThrow('broken');
  });
});

describe('an answer', () => {
  const secret = out({ forbidden_patterns: ['s\\w+t'], action: 'redact' }, 'secret');
  const numbers = out({ forbidden_patterns: ['\\d+'], action: 'redact' }, 'numbers');
  const verdict = (list: PinnedGuardrail[], text: string, final?: boolean) =>
    judge.judgeAnswer(list, text, { owner: 'o', ...(final === undefined ? {} : { final }) });

  it.each<[string, PinnedGuardrail[], string, string | null, string[]]>([
    ['passes without guardrails', [], 'secret 1', 'secret 1', []],
    ['passes what objects to nothing', [secret, numbers], 'fine', 'fine', []],
    [
      'is redacted by each in turn',
      [secret, numbers],
      'a secret 12',
      'a [REDACTED] [REDACTED]',
      ['secret redact', 'numbers redact'],
    ],
    ['passes with a warning', [out({ forbidden_patterns: ['a'], action: 'warn' })], 'a', 'a', ['out warn']],
    ['passes with a warning where no action is set', [out({ forbidden_patterns: ['a'] })], 'a', 'a', ['out warn']],
    ['is withheld', [out({ forbidden_patterns: ['a'], action: 'block' })], 'a', null, ['out block']],
    [
      'is judged by nothing once it is withheld',
      [out({ forbidden_patterns: ['a'], action: 'block' }), secret],
      'a secret',
      null,
      ['out block'],
    ],
    [
      'is judged as the one before let it through',
      [secret, out({ forbidden_patterns: ['secret'], action: 'block' })],
      'secret',
      '[REDACTED]',
      ['secret redact'],
    ],
    ['is judged by output guardrails only', [guardrail('prompt', { forbidden_patterns: ['.'] })], 'x', 'x', []],
  ])('%s', async (_, list, answer, text, findings) => {
    const found = await verdict(list, answer);
    expect([found.text, found.findings.map(({ guardrail, action }) => `${guardrail} ${action}`)]).toEqual([text, findings]);
  });

  it('has to be complete only when it is final', async () => {
    const strict = out({ required_patterns: ['end'], must_be_valid_json: true, max_length: 2, action: 'block' });
    expect((await verdict([strict], 'abc')).findings[0]?.reasons).toEqual([
      'it does not match the required pattern end',
      'it has 3 characters, at most 2 are allowed',
      'it is not valid JSON',
    ]);
    expect((await verdict([strict], 'abc', true)).findings[0]?.reasons).toHaveLength(3);
    expect((await verdict([strict], 'abc', false)).findings[0]?.reasons).toEqual(['it has 3 characters, at most 2 are allowed']);
  });

  it('is held back where a guardrail may change or withhold it', () => {
    expect([[], [out({})], [out({ action: 'warn' })], [guardrail('prompt', { action: 'block' })]].map(holdsBack)).toEqual([
      ...[false, false, false, false],
    ]);
    expect([[out({ action: 'redact' })], [out({}), out({ action: 'block' })]].map(holdsBack)).toEqual([true, true]);
  });
});

describe('the ports', () => {
  it('judge prompts and answers of a run by its own guardrails', async () => {
    const refuse = createPromptCheck(judge);
    expect(await refuse({ guardrails: [noNumbers] } as never, '1', 'o')).toMatchObject({ code: 'guardrail_blocked' });
    expect(await refuse({} as never, '1', 'o')).toBeNull();
    const guards = createOutputGuards(judge);
    const blocking = { guardrails: [out({ forbidden_patterns: ['a'], action: 'block' })] } as never;
    expect((await guards.judge(blocking, 'a', { final: true, owner: 'o' })).text).toBeNull();
    expect((await guards.judge({} as never, 'a', { final: true, owner: 'o' })).text).toBe('a');
    expect([guards.holdsBack(blocking), guards.holdsBack({} as never)]).toEqual([true, false]);
  });

  it('give the judge what it judges by: no guardrails of a run without any, and no answer without a schema', async () => {
    const asked: unknown[] = [];
    const note =
      (name: string) =>
      async (...args: unknown[]) =>
        asked.push([name, ...args]);
    const noted = {
      findRefusal: note('findRefusal'),
      judgeAnswer: note('judgeAnswer'),
      listOutputErrors: note('listOutputErrors'),
    } as never;
    await createPromptCheck(noted)({} as never, 'text', 'o');
    const guards = createOutputGuards(noted);
    await guards.judge({} as never, 'text', { final: true, owner: 'o' });
    expect(await guards.listOutputErrors({} as never, 'text', 'o')).toEqual([]);
    await guards.listOutputErrors({ output_schema: { type: 'object' } } as never, '```json\n{}\n```', 'o');
    expect(guards.holdsBack({} as never)).toBe(false);
    expect(asked).toEqual([
      ['findRefusal', [], 'text', 'o'],
      ['judgeAnswer', [], 'text', { final: true, owner: 'o' }],
      ['listOutputErrors', { type: 'object' }, '{}', 'o'],
    ]);
  });
});
