import { expect, it } from 'vitest';
import { textsToAdmit } from '../../src/temporal/start/attached-files.ts';

it('a file that a tool returned as text, but is none, is judged as an empty one', async () => {
  const file = { id: 'f', name: 'a.csv', media_type: 'text/csv', size: 2, sha256: '' };
  const attachments = { contents: async () => [{ id: 'f', content: Buffer.from([0xe9, 0x3b]) }] };
  const admitting = textsToAdmit({ attachments } as never, { provider: null } as never, [file]);
  expect(await admitting).toEqual([{ path: 'attachments.0', text: '' }]);
});
