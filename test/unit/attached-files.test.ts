import { describe, expect, it } from 'vitest';
import { type AskedFile, createAttach } from '../../src/api/routes/attachments.ts';
import type { AttachedFile } from '../../src/domain/attachments.ts';

const LIMITS = { bytes_each: 11, bytes_together: 17, count: 3 };

const sent = (length: number): AskedFile => ({
  name: `${length}.txt`,
  declared: 'text/plain',
  content: Buffer.from('x'.repeat(length)),
});
const stored = (size: number): AskedFile & AttachedFile => ({
  id: `stored ${size}`,
  name: 'a',
  media_type: 'text/plain',
  size,
  sha256: '',
});

/** Attaches these files; returns their ids, or the code of the refusal, and what was written. */
async function attach(...files: (AskedFile | (AskedFile & AttachedFile))[]) {
  const written: number[] = [];
  const admitted: number[] = [];
  const store = {
    loadOwned: async (ids: readonly string[]) =>
      files.filter((file): file is AskedFile & AttachedFile => 'id' in file && ids.includes(file.id)),
    create: async ({ name, media_type, content }: { name: string; media_type: string; content: Uint8Array }) => {
      written.push(content.length);
      return { id: `new ${content.length}`, name, media_type, size: content.length };
    },
  };
  const work = createAttach({
    store: { attachments: store } as never,
    limits: LIMITS,
    admitBytes: async (_, bytes) => void admitted.push(bytes),
  });
  const outcome = await work(files, 'ann').then(
    (attached) => attached.map(({ id }) => id),
    ({ code }) => code,
  );
  return { outcome, written, admitted };
}

describe('the files of a prompt', () => {
  it('may have as many bytes together as are allowed, whether they are sent or stored before', async () => {
    for (const files of [
      [sent(11), sent(6)],
      [stored(11), sent(6)],
      [sent(11), stored(6)],
      [stored(11), stored(6)],
    ])
      expect((await attach(...files)).outcome).toHaveLength(2);
    for (const files of [
      [sent(11), sent(7)],
      [stored(11), sent(7)],
      [sent(11), stored(7)],
      [stored(11), stored(7)],
    ])
      expect(await attach(...files)).toEqual({ outcome: 'attachments_too_large', written: [], admitted: [] });
  });

  it('may be as large and as many as are allowed', async () => {
    expect(await attach(sent(11))).toEqual({ outcome: ['new 11'], written: [11], admitted: [11] });
    expect(await attach(sent(2), sent(12))).toEqual({ outcome: 'attachment_too_large', written: [], admitted: [] });
    expect((await attach(sent(1), sent(2), stored(3))).outcome).toHaveLength(3);
    expect(await attach(sent(1), sent(2), stored(3), sent(4))).toEqual({
      outcome: 'too_many_attachments',
      written: [],
      admitted: [],
    });
  });

  it('keep their order, and only new ones count for the quota', async () => {
    expect(await attach(sent(2), stored(3), sent(5), stored(7))).toMatchObject({ outcome: 'too_many_attachments' });
    expect(await attach(sent(2), stored(3), sent(5))).toEqual({
      outcome: ['new 2', 'stored 3', 'new 5'],
      written: [2, 5],
      admitted: [7],
    });
  });
});
