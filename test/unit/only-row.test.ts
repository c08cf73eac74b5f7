import { expect, it } from 'vitest';
import { onlyRow } from '../../src/store/database/database.ts';

const database = (...rows: object[]) => ({ query: async () => ({ rows }) }) as never;

it('a statement that always has a row names itself if it has none', async () => {
  const query = { name: 'count_things', text: 'SELECT count(*) FROM things' };
  expect(await onlyRow(database({ count: 7 }), query)).toEqual({ count: 7 });
  await expect(onlyRow(database(), query)).rejects.toThrow('The statement count_things returned no row');
  await expect(onlyRow(database(), { text: 'SELECT 7' })).rejects.toThrow('The statement SELECT 7 returned no row');
});
