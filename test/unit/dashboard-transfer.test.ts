import { describe, expect, it } from 'vitest';
import type { Client } from '../../src/dashboard/api/call.ts';
import { ApiProblem } from '../../src/dashboard/api/call.ts';
import { allowTool } from '../../src/dashboard/resources/panels/allow-tool.ts';
import { ATTEMPTS } from '../../src/dashboard/resources/versions.ts';
import { listReports, PARTS, parseBundle } from '../../src/dashboard/transfer/bundle-file.ts';
import { shortenPrompt } from '../../src/dashboard/ui/prompt.ts';

describe('a file that is imported', () => {
  const parse = (text: string) => parseBundle(new File([text], 'bundle.json'));

  it.each(Object.keys(PARTS))('goes to the import of what it contains: %s', async (part) => {
    const body = { version: '1.0', ...(part !== 'bundle' && { resource_type: part }), items: [] };
    expect(await parse(JSON.stringify(body))).toEqual({ part, body });
  });

  it('is refused with the reason', async () => {
    expect(await parseBundle(null)).toEqual({ wrong: 'Choose a file.' });
    expect(await parse('{')).toEqual({ wrong: expect.stringMatching(/^Not valid JSON: /) });
    for (const resource_type of ['run', 'toString'])
      expect(await parse(JSON.stringify({ resource_type }))).toEqual({
        wrong: `This file contains ${resource_type}, which cannot be imported. Choose a file from Export.`,
      });
  });

  it('is reported as one list, and each part of a bundle by its name', () => {
    const result = (created: number) => ({ created, errors: [], ids: [], warnings: [] });
    expect(listReports(result(7))).toEqual([['Items', result(7)]]);
    const bundle = { skills: result(3), knowledge_sources: result(5), warnings: [] };
    expect(listReports(bundle as never)).toEqual([
      ['skills', result(3)],
      ['knowledge sources', result(5)],
    ]);
  });
});

describe('the tools of a server that agents can use', () => {
  const ALL = ['see', 'pay', 'send'];

  /** A service whose record others change before each save for which they have a list left. */
  function held(allowed_tools: string[], ...theirs: string[][]) {
    let tag = 0;
    let now = allowed_tools;
    const client = {
      tagged: async () => ({ value: { allowed_tools: now }, tag: `"${tag}"` }),
      async call(_: unknown, { body, if_match }: { body: { allowed_tools: string[] }; if_match: string }) {
        const other = theirs.shift();
        if (other) {
          now = other;
          tag += 1;
        }
        if (if_match !== `"${tag}"`) throw new ApiProblem({ status: 412, code: 'changed', detail: 'It was changed' });
        now = body.allowed_tools;
      },
    };
    return { client: client as unknown as Client, read: () => now };
  }
  const allow = async (service: ReturnType<typeof held>, name: string, on: boolean) => {
    await allowTool(service.client, { id: 'm', all: ALL }, { name, on });
    return service.read();
  };

  it('change one by one; an empty list is all of them', async () => {
    expect(await allow(held([]), 'pay', false)).toEqual(['see', 'send']);
    expect(await allow(held(['see', 'send']), 'see', false)).toEqual(['send']);
    expect(await allow(held(['send']), 'see', true)).toEqual(['send', 'see']);
    expect(await allow(held(['see', 'send']), 'pay', true)).toEqual([]);
  });

  it('keep what someone else has changed meanwhile', async () => {
    expect(await allow(held([], ['see', 'pay']), 'pay', false)).toEqual(['see']);
    const restless = held([], ...Array.from({ length: ATTEMPTS }, () => ['see', 'pay']));
    await expect(allow(restless, 'pay', false)).rejects.toThrow('It was changed');
  });

  it('never become none, also if someone else takes the others away', async () => {
    const service = held(['see', 'pay'], ['pay']);
    await expect(allow(service, 'pay', false)).rejects.toThrow('At least one tool must stay selected');
    expect(service.read()).toEqual(['pay']);
  });

  it('stay as they are if the service refuses', async () => {
    const service = held(['see', 'pay']);
    const refusal = new ApiProblem({ status: 403, code: 'no', detail: 'Not yours' });
    let attempts = 0;
    const call = () => {
      attempts += 1;
      return Promise.reject(refusal);
    };
    const client = { ...service.client, call } as unknown as Client;
    await expect(allowTool(client, { id: 'm', all: ALL }, { name: 'pay', on: false })).rejects.toBe(refusal);
    expect(attempts).toBe(1);
  });
});

it('a prompt is shortened in lists, and named if it is empty', () => {
  expect([shortenPrompt('seven', 7), shortenPrompt('seven', 3), shortenPrompt('', 7)]).toEqual(['seven', 'sev', '(empty)']);
});
