import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { AppError } from '../../src/domain/errors.ts';
import { createFileKeeper } from '../../src/main/wiring/runs/kept-files.ts';

const MIB = 1_024 ** 2;

/** Keeps files of these sizes for a person who has room for so many bytes. */
async function keep(
  sizes: number[],
  { room, fails = null, earlier = [] }: { room: number; fails?: Error | null; earlier?: object[] },
) {
  const owners: string[] = [];
  const linked: string[] = [];
  let left = room;
  const attachments = {
    create: async ({ name, created_by }: { name: string; created_by: string }) => {
      owners.push(created_by);
      return { id: name, name };
    },
    listOfResult: async () => earlier,
    linkToResult: async (_call: unknown, files: { id: string }[]) => void linked.push(...files.map(({ id }) => id)),
  };
  const quotas = {
    async admitBytes(_owner: string, bytes: number) {
      if (fails) throw fails;
      if (bytes > left) throw new AppError('too_large', 'You may store no more (STORED_BYTES_PER_PRINCIPAL)');
      left -= bytes;
    },
  };
  const keeper = createFileKeeper({ store: { attachments }, quotas, setting: { config: { ATTACHMENT_MAX_MB: 1 } } } as never);
  const files = sizes.map((size, index) => ({
    name: `../${index}.png`,
    media_type: 'image/png',
    content: Buffer.alloc(size),
  }));
  const outcome = await keeper({ owner: 'alice' } as never, files);
  return { kept: outcome.kept.map(({ name }) => name), refused: outcome.refused, owners, linked };
}

it('files of a result are kept for the owner of the run, as far as the owner has room', async () => {
  expect(await keep([600, MIB + 1, 600, 300], { room: 1_000 })).toEqual({
    kept: ['0.png', '3.png'],
    refused: [
      { name: '1.png', reason: 'it is larger than 1 MiB (ATTACHMENT_MAX_MB)' },
      { name: '2.png', reason: 'You may store no more (STORED_BYTES_PER_PRINCIPAL)' },
    ],
    owners: ['alice', 'alice'],
    linked: ['0.png', '3.png'],
  });
});

it('a file that an earlier attempt of the call has stored is not stored again, nor does it need room', async () => {
  const sha256 = createHash('sha256').update(Buffer.alloc(300)).digest('hex');
  const earlier = [{ id: 'stored', name: '1.png', media_type: 'image/png', sha256 }];
  expect(await keep([600, 300], { room: 600, earlier })).toEqual({
    kept: ['0.png', '1.png'],
    refused: [],
    owners: ['alice'],
    linked: ['0.png', 'stored'],
  });
});

it('a failure of the installation is none of the files', async () => {
  await expect(keep([1], { room: 1, fails: new Error('the database is down') })).rejects.toThrow('the database is down');
});
