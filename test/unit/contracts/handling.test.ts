import { expect, it } from 'vitest';
import { storesInput } from '../../../src/contracts/endpoint.ts';
import { declaredEndpoints } from '../../support/contract/endpoints.ts';

const endpoints = await declaredEndpoints();
const decided = (fact: 'audited' | 'stores') =>
  endpoints.filter((endpoint) => typeof endpoint[fact] === 'function').map(({ operation }) => operation);
const find = (operation: string) => endpoints.find((endpoint) => endpoint.operation === operation)!;

it('the audit has the messages of MCP that start or end a run, alone or among others', () => {
  expect(decided('audited')).toEqual(['mcp']);
  const audited = find('mcp').audited as (body: unknown) => boolean;
  const call = (method: string) => ({ jsonrpc: '2.0', id: 1, method });
  const recorded = [
    call('tools/call'),
    call('tasks/cancel'),
    [call('tools/list'), call('tools/call')],
    [null, call('tasks/cancel')],
  ];
  expect(recorded.map(audited)).toEqual([true, true, true, true]);
  const silent = [
    call('initialize'),
    call('tools/list'),
    call('tasks/get'),
    call('tasks/result'),
    [],
    null,
    undefined,
    {},
    [null],
  ];
  expect(silent.map(audited)).toEqual(silent.map(() => false));
});

it('a response counts as storage if a conversation keeps it, and every upload and import does', () => {
  expect(decided('stores')).toEqual(['create_response']);
  const stored = [{ conversation: 'conv_1' }, { conversation: { id: 'conv_1' } }, { conversation: null }, {}, null];
  expect(stored.map((body) => storesInput(find('create_response'), body))).toEqual([true, true, false, false, false]);
  const large = endpoints.filter(({ upload, large }) => upload || large);
  expect(large.length).toBeGreaterThan(8);
  expect(large.filter((endpoint) => !storesInput(endpoint, {}))).toEqual([]);
});
