import { describe, expect, it } from 'vitest';
import type { AttachedFile } from '../../src/domain/attachments.ts';
import { getDialect } from '../../src/domain/dialect.ts';
import { ModelFailure } from '../../src/domain/model-failure.ts';
import { type FileTakers, listShownFiles, rememberKinds, type ShownKinds } from '../../src/domain/result-files.ts';
import type { SentMessage, TranscriptMessage } from '../../src/domain/transcript.ts';
import { chatRequest } from '../../src/runtimes/chat-request.ts';
import { messagesRequest } from '../../src/runtimes/messages-request.ts';
import type { ExchangeAttempt } from '../../src/temporal/activities/exchange/attempt.ts';
import { askWithResultFiles } from '../../src/temporal/activities/exchange/result-files.ts';
import { exchangeOf } from './support.ts';

const WINDOW = 128_000;
const blank = { position: 0, tool_calls: null, call_id: null, extra: null };
const fileOf = (media_type: string, size = 4): AttachedFile => ({ id: media_type, name: 'a', media_type, size, sha256: '' });
const resultOf = (position: number, files: AttachedFile[] = []): TranscriptMessage => ({
  ...{ ...blank, step: 1, position, role: 'tool', kind: 'result', content: `Result ${position}` },
  call_id: `1-${position}`,
  extra: files.length > 0 ? { files } : null,
});
const calls = [1, 2].map((number) => ({ call_id: `1-${number}`, name: 'shoot', arguments: '{}' }));
const transcript: TranscriptMessage[] = [
  { ...blank, step: 0, role: 'user', kind: 'prompt', content: 'Look' },
  { ...blank, step: 1, role: 'assistant', kind: 'reply', content: '', tool_calls: calls } as TranscriptMessage,
  resultOf(1),
  resultOf(2),
];
const IMAGE = { name: 'image-1.png', media_type: 'image/png', data: 'aW1n' };
const SOUND = { name: 'audio-2.wav', media_type: 'audio/wav', data: 'c25k' };
const exchange = exchangeOf({ transcript: transcript.with(2, { ...transcript[2]!, files: [IMAGE, SOUND] } as SentMessage) });

it('chat completions get the files after all results of the round', () => {
  const { messages } = chatRequest(exchange, 'm', getDialect(null, 'm'));
  expect(messages.map(({ role }) => role).slice(-3)).toEqual(['tool', 'tool', 'user']);
  expect(messages.at(-1)?.content).toEqual([
    { type: 'text', text: 'Returned by the tools: image-1.png, audio-2.wav' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,aW1n' } },
    { type: 'input_audio', input_audio: { data: 'c25k', format: 'wav' } },
  ]);
});

it('the Messages API gets images within the result, and no sounds', () => {
  const { messages } = messagesRequest(exchange, 'm');
  const results = (messages.at(-1)!.content as { type: string; content?: unknown }[]).filter(
    ({ type }) => type === 'tool_result',
  );
  expect(results.map(({ content }) => content)).toEqual([
    [
      { type: 'text', text: 'Result 1' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aW1n' } },
    ],
    'Result 2',
  ]);
});

describe('a model that refuses files', () => {
  const SHOT = resultOf(1, [fileOf('image/png'), fileOf('audio/wav')]);
  /** Asks a model that takes these kinds, and returns the kinds that it was sent. */
  async function askOf(
    taken: readonly string[],
    { file_takers = new Map(), task_id = 'run', status = 400, code = 'model_error', keeps_context = false, gone = [''] } = {},
  ) {
    const sent: string[][] = [];
    const loadResultFiles = async (files: readonly AttachedFile[]) =>
      files.filter(({ id }) => !gone.includes(id)).map((file) => ({ ...file, content: Buffer.from('x') }));
    const ports = { file_takers, loadResultFiles };
    const work = { ports, run: { task_id, owner: 'alice' }, definition: { provider: null, model: 'm' } };
    const ask = async (transcript: SentMessage[]) => {
      const kinds = transcript.flatMap(({ files = [] }) => files).map(({ media_type }) => media_type.split('/')[0]!);
      sent.push(kinds);
      if (kinds.some((kind) => !taken.includes(kind))) throw new ModelFailure('refused', { code, status, recoverable: false });
      return 'answered';
    };
    const options = { window: WINDOW, keeps_context, ask, onFewer: async () => {} };
    const outcome = await askWithResultFiles(work as unknown as ExchangeAttempt, [SHOT], options).catch((error: Error) => error);
    return { sent, outcome, file_takers };
  }

  it.each([
    [['image', 'audio'], [['image', 'audio']]],
    [['image'], [['image', 'audio'], ['image']]],
    [[], [['image', 'audio'], ['image'], []]],
  ])('is asked again without them, and later in the run at once: it takes %j', async (taken, expected) => {
    const { sent, outcome, file_takers } = await askOf(taken);
    expect({ sent, outcome }).toEqual({ sent: expected, outcome: 'answered' });
    expect((await askOf(taken, { file_takers })).sent).toEqual(expected.slice(-1));
    // One broken image of a server must not keep those of other runs from the same model.
    expect((await askOf(taken, { file_takers, task_id: 'other run' })).sent).toEqual(expected);
  });

  it('for another reason is not remembered', async () => {
    const { outcome, sent, file_takers } = await askOf(['none'], { status: 500 });
    expect(outcome).toBeInstanceOf(ModelFailure);
    expect(sent).toHaveLength(1);
    expect((await askOf([], { code: 'context_window_full' })).sent).toHaveLength(1);
    // Too many bytes may be those of files.
    expect((await askOf(['none'], { code: 'context_window_full', status: 413 })).sent).toHaveLength(3);
    expect(file_takers.size).toBe(0);
  });

  it('is sent none that was removed meanwhile', async () => {
    expect((await askOf(['image', 'audio'], { gone: ['audio/wav'] })).sent).toEqual([['image']]);
  });

  it('at the vendor is sent none', async () => {
    expect((await askOf([], { keeps_context: true })).sent).toEqual([[]]);
  });
});

describe('a model that refuses the files of an earlier turn', () => {
  const promptOf = (turn: number): SentMessage => ({
    ...{ ...blank, turn, step: 0, role: 'user', kind: 'prompt', content: `Look ${turn}` },
    files: [{ ...IMAGE, name: `image-${turn}.png` }],
  });
  /** Asks with two prompts that have files, until the answer is given; returns what was sent and reported. */
  async function askWith(taken: number, { keeps_context = false, results = [] as TranscriptMessage[] } = {}) {
    const sent: unknown[] = [];
    const reports: unknown[] = [];
    const loadResultFiles = async (files: readonly AttachedFile[]) =>
      files.map((file) => ({ ...file, content: Buffer.from('x') }));
    const work = { ports: { file_takers: new Map(), loadResultFiles }, run: { task_id: 'run', owner: 'alice' } };
    const ask = async (transcript: SentMessage[]) => {
      sent.push(transcript.map(({ content, files = [] }) => [content, files.length]));
      const count = transcript.flatMap(({ files = [] }) => files).length;
      if (count > taken) throw new ModelFailure('refused', { code: 'model_error', status: 400, recoverable: false });
    };
    const onFewer = async (...report: unknown[]) => void reports.push(report);
    const transcript = [promptOf(3), ...results, promptOf(5)];
    await askWithResultFiles(work as unknown as ExchangeAttempt, transcript, {
      window: WINDOW,
      keeps_context,
      ask,
      onFewer,
    }).catch(() => {});
    return { sent, reports };
  }
  const WITHOUT = [
    ['Look 3\n\n[image-3.png is not shown]', 0],
    ['Look 5', 1],
  ];
  const WITH = [
    ['Look 3', 1],
    ['Look 5', 1],
  ];

  it('is asked again with their names, and with its own files', async () => {
    expect(await askWith(2)).toEqual({ sent: [WITH], reports: [] });
    expect(await askWith(1)).toEqual({ sent: [WITH, WITHOUT], reports: [['none', true]] });
    expect(await askWith(0)).toEqual({ sent: [WITH, WITHOUT], reports: [['none', true]] });
  });

  it('is asked without sounds of tools before', async () => {
    const results = [{ ...resultOf(1, [fileOf('audio/wav')]), turn: 3 }];
    const { sent, reports } = await askWith(1, { results });
    expect(sent).toHaveLength(3);
    expect(reports).toEqual([
      ['images', false],
      ['none', true],
    ]);
  });

  it('gets their names at once if the provider takes texts only', async () => {
    expect(await askWith(1, { keeps_context: true })).toEqual({ sent: [WITHOUT], reports: [] });
  });
});

it('a result is shown with its own files, also if a call of an earlier turn has the same id', async () => {
  const shots = [3, 5].map((turn) => ({ ...resultOf(1, [{ ...fileOf('image/png'), id: `shot ${turn}` }]), turn }));
  const loadResultFiles = async (files: readonly AttachedFile[]) =>
    files.map((file) => ({ ...file, content: Buffer.from(file.id) }));
  const work = { ports: { file_takers: new Map(), loadResultFiles }, run: { task_id: 'run', owner: 'alice' } };
  const ask = async (transcript: SentMessage[]) =>
    transcript.map(({ turn, files }) => [turn, files?.map(({ data }) => atob(data))]);
  const options = { window: WINDOW, keeps_context: false, ask, onFewer: async () => {} };
  const sent = await askWithResultFiles(work as unknown as ExchangeAttempt, [...shots, resultOf(2)], options);
  expect(sent).toEqual([
    [3, ['shot 3']],
    [5, ['shot 5']],
    [undefined, undefined],
  ]);
});

it('a model is shown the newest files, of types that models take, up to a size', () => {
  const many = Array.from({ length: 8 }, (_, number) => resultOf(number, [fileOf('image/png'), fileOf('audio/mpeg')]));
  const odd = resultOf(9, [fileOf('image/svg+xml'), fileOf('application/zip'), fileOf('image/png', 50_000_000)]);
  const shown = (kinds: ShownKinds, window = WINDOW) => listShownFiles([...many, odd], { kinds, window });
  expect(shown('all')).toHaveLength(10);
  expect(shown('all').at(0)?.result.call_id).toBe('1-3');
  expect(shown('images')).toHaveLength(8);
  expect(shown('none')).toEqual([]);
});

it('a model is shown as many files as fit into a part of its window', () => {
  const images = Array.from({ length: 8 }, (_, number) => resultOf(number, [fileOf('image/png')]));
  expect(listShownFiles(images, { kinds: 'all', window: 16_000 }).map(({ result }) => result.call_id)).toEqual(['1-6', '1-7']);
  expect(listShownFiles(images, { kinds: 'all', window: 4_096 })).toEqual([]);
});

it('the newest runs are remembered', () => {
  const takers: FileTakers = new Map();
  for (let number = 0; number < 1_500; number += 1) rememberKinds(takers, `run ${number}`, 'none');
  rememberKinds(takers, 'run 500', 'images');
  rememberKinds(takers, 'another', 'none');
  expect(takers.size).toBe(1_000);
  expect([takers.get('run 499'), takers.get('run 500'), takers.get('run 501')]).toEqual([undefined, 'images', undefined]);
});
