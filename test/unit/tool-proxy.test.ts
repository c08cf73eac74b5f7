import { expect, it } from 'vitest';
import { proxyEnv } from '../../src/toolrunner/job.ts';

it('names the proxy of a tool in every spelling that HTTP clients read, and none without a proxy', () => {
  const url = 'http://call:secret@127.0.0.1:3128';
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
  expect(proxyEnv({ port: 3128, token: 'secret' })).toEqual(Object.fromEntries(names.map((name) => [name, url])));
  expect(proxyEnv(null)).toEqual({});
});
