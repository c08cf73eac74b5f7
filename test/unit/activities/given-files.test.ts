import { expect, it } from 'vitest';
import type { AttachedFile } from '../../../src/domain/attachments.ts';
import { FORK_PROMPT_POSITION } from '../../../src/domain/fork.ts';
import type { FilesOfTurns } from '../../../src/domain/given-files.ts';
import type { TranscriptMessage } from '../../../src/domain/transcript.ts';
import { addGivenFiles } from '../../../src/temporal/activities/exchange/given-files.ts';

const fileOf = (id: string, name: string, media_type: string): AttachedFile => ({ id, name, media_type, size: 7, sha256: '' });
const NOTES = fileOf('3', 'notes.csv', 'text/csv');
const CAT = fileOf('5', 'cat.png', 'image/png');
const BILL = fileOf('7', 'bill.pdf', 'application/pdf');
const BYTES: Record<string, string> = { 3: 'a;11', 5: 'cat-13', 7: 'bill-17' };
const base64 = (text: string) => Buffer.from(text).toString('base64');

const message = (values: Partial<TranscriptMessage>): TranscriptMessage => ({
  ...{ step: 0, position: 0, role: 'user', kind: 'prompt', content: '', tool_calls: null, call_id: null, extra: null },
  ...values,
});

/** The contents and files of messages once the files of a run are added. */
async function add(transcript: TranscriptMessage[], run: FilesOfTurns) {
  const loaded: string[][] = [];
  const loadFiles = async (files: readonly AttachedFile[]) => {
    loaded.push(files.map(({ id }) => id));
    return files.map((file) => ({ ...file, content: Buffer.from(BYTES[file.id]!) }));
  };
  const sent = await addGivenFiles({ loadFiles }, transcript, run);
  return { loaded, sent: sent.map(({ content, files }) => [content, files?.map(({ name, data }) => [name, data])]) };
}

it('each prompt gets the files of its turn: texts in it, others next to it', async () => {
  const transcript = [
    message({ turn: 1, position: -2, role: 'system', kind: 'context', content: 'Known.' }),
    message({ turn: 1, content: 'One 19.' }),
    message({ turn: 1, step: 1, role: 'assistant', kind: 'reply', content: 'Yes.' }),
    message({ turn: 2, content: 'Two 23.' }),
    message({ turn: 3, content: 'Three 29.' }),
  ];
  const earlier = [
    { turn: 1, attachments: [CAT, NOTES] },
    { turn: 2, attachments: null },
  ];
  const { loaded, sent } = await add(transcript, { thread_turn: 3, attachments: [BILL], earlier });
  expect(sent).toEqual([
    ['Known.', undefined],
    ['One 19.\n\n<file name="notes.csv">\na;11\n</file>', [['cat.png', base64('cat-13')]]],
    ['Yes.', undefined],
    ['Two 23.', undefined],
    ['Three 29.', [['bill.pdf', base64('bill-17')]]],
  ]);
  expect(loaded).toEqual([['5', '3'], ['7']]);
});

it('of images and PDF files of earlier turns, the newest 20 MiB are shown, and of the turn itself all', async () => {
  const sized = (id: string, size: number, file = CAT): AttachedFile => ({ ...file, id, name: `${id} of ${size}`, size });
  const MIB = 1_024 ** 2;
  const namesOf = async (newer_size: number) => {
    const earlier = [
      { turn: 1, attachments: [sized('3', 11 * MIB), sized('5', 7, NOTES)] },
      { turn: 2, attachments: [sized('7', newer_size)] },
    ];
    const transcript = [1, 2, 3].map((turn) => message({ turn, content: `Prompt ${turn}` }));
    const { loaded, sent } = await add(transcript, { thread_turn: 3, attachments: [sized('3', 21 * MIB)], earlier });
    return { loaded, first: sent[0]![0] };
  };
  expect(await namesOf(9 * MIB)).toMatchObject({ loaded: [['3', '5'], ['7'], ['3']] });
  const { loaded, first } = await namesOf(9 * MIB + 1);
  expect(loaded).toEqual([['5'], ['7'], ['3']]);
  expect(first).toBe(`Prompt 1\n\n<file name="5 of 7">\ncat-13\n</file>\n\n[3 of ${11 * MIB} is not shown]`);
});

it('a prompt of a turn whose files are unknown gets none of another one', async () => {
  const transcript = [message({ turn: 1, content: 'One 19.' }), message({ turn: 2, content: 'Two 23.' })];
  const { sent } = await add(transcript, { thread_turn: 2, attachments: [CAT], earlier: [] });
  expect(sent).toEqual([
    ['One 19.', undefined],
    ['Two 23.', [['cat.png', base64('cat-13')]]],
  ]);
});

it('a run by itself gives its files to its prompt, and not to one that a fork has added', async () => {
  const transcript = [
    message({ content: 'Look 31.' }),
    message({ position: FORK_PROMPT_POSITION, content: 'Look again.' }),
    message({ step: 1, role: 'assistant', kind: 'reply', content: 'I see.' }),
    message({ step: 1, position: FORK_PROMPT_POSITION, content: 'And again.' }),
  ];
  const { sent } = await add(transcript, { attachments: [NOTES], thread_turn: null, earlier: [] });
  expect(sent).toEqual([
    ['Look 31.\n\n<file name="notes.csv">\na;11\n</file>', undefined],
    ['Look again.', undefined],
    ['I see.', undefined],
    ['And again.', undefined],
  ]);
});
