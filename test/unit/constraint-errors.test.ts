import { expect, it } from 'vitest';
import { Prisma } from '../../src/generated/prisma/client.ts';
import { translateConstraintErrors } from '../../src/store/database/resource.ts';

const refuse = (error: Error) => translateConstraintErrors('dataset', Promise.reject(error));
const known = (code: string) => new Prisma.PrismaClientKnownRequestError('of the database', { code, clientVersion: '7' });

it.each([
  ['P2002', { kind: 'conflict', code: 'name_taken' }],
  ['P2003', { kind: 'conflict', code: 'in_use', message: 'This dataset is in use; remove what refers to it first' }],
  ['P2025', { kind: 'not_found', message: 'There is no such dataset' }],
])('the error %s of the database is a refusal in words', async (code, refusal) => {
  await expect(refuse(known(code))).rejects.toMatchObject(refusal);
});

it.each([known('P2024'), new TypeError('ours')])('any other error stays as it is: %s', async (error) => {
  await expect(refuse(error)).rejects.toBe(error);
});
