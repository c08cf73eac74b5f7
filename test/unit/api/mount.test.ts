import fastify from 'fastify';
import { expect, it } from 'vitest';
import { mount } from '../../../src/api/http/mount.ts';
import { skills } from '../../../src/contracts/skills.ts';

const ID = '01937b7e-6d3b-7c4e-9a51-2f0c8d1e4b7a';

/** Deletes a skill as Ann. */
async function deleteSkill(record: () => Promise<void>) {
  const published: unknown[] = [];
  const http = fastify();
  http.addHook('onRequest', async (request) => {
    request.caller = { key: 'local:ann', scopes: ['read', 'write'] } as never;
  });
  const api = { http, endpoints: [], audit: { record }, publishChange: (change: unknown) => void published.push(change) };
  mount({ ...api, closing: new AbortController().signal } as never, skills.remove, async () => {});
  const { statusCode } = await http.inject({ method: 'DELETE', url: `/api/skills/${ID}` });
  return { status: statusCode, published };
}

it.each([
  ['recorded', 204, async () => {}],
  ['refused', 500, () => Promise.reject(new Error('The disk is full'))],
] as const)('publishes a write once, also if its entry of the audit is %s', async (_, status, record) => {
  expect(await deleteSkill(record)).toEqual({ status, published: [{ kind: 'skills', id: ID, owner: null }] });
});
