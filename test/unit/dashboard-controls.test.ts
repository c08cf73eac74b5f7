import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { closeScreens, openScreens, toText } from '../support/browser/rendered.ts';

const page = (items: object[]) => ({ items, total: items.length, next: null });

let the: Awaited<ReturnType<typeof openScreens>>;
beforeAll(async () => {
  the = await openScreens(Date.UTC(2026, 0, 31, 12));
}, 60_000);
afterAll(closeScreens);

/** A control of a form with these values. */
function control(field: object, values: object, replies: object = {}): string {
  const props = { field: { name: 'it', label: 'It', ...field }, path: 'it', values, faults: [], onChange() {} };
  return the.render(the.FieldControl, { props, replies: replies as never });
}
/** The options of a control, the chosen one in brackets. */
const optionsOf = (html: string) =>
  [...html.matchAll(/<option([^>]*)>([^<]*)</g)].map(([, attributes, label]) =>
    attributes!.includes('selected') ? `[${label}]` : label,
  );

describe('the control of a setting that may be left to the model', () => {
  it.each([
    [null, ['[model default]', 'yes', 'no']],
    [true, ['model default', '[yes]', 'no']],
    [false, ['model default', 'yes', '[no]']],
  ])('shows %s', (it, options) => {
    expect(optionsOf(control({ control: 'yes_no', none: 'model default' }, { it }))).toEqual(options);
  });
});

describe('the control of a version', () => {
  const versions = [
    { number: 7, definition_hash: 'h7', current: true },
    { number: 3, definition_hash: 'h3', current: false },
  ];
  const shown = (values: object) =>
    optionsOf(control({ control: 'version' }, values, { list_workflow_versions: page(versions) }));

  it('offers those of the workflow that the form names', () => {
    expect(shown({ workflow_id: 'w', it: 'h3' })).toEqual(['—', 'version 7, current', '[version 3]']);
    expect(shown({ workflow_id: '', it: '' })).toEqual(['[—]']);
  });
});

describe('the control of a secret', () => {
  it('hides what is typed', () => {
    expect(control({ control: 'secret' }, { it: 'hunter2' })).toContain('type="password"');
    expect(control({ control: 'text' }, { it: 'hunter2' })).not.toContain('type="password"');
  });
});

describe('the control of a number', () => {
  it.each([[{}], [{ min: 3, max: 7 }]])('shows it with and without bounds: %j', (bounds) => {
    expect(control({ control: 'number', ...bounds }, { it: 5 })).toContain('value="5"');
  });
});

describe('the control of the tools that ask', () => {
  const agent = {
    ...{ it: ['see', 'pay', 'mail_send', 'gone'], builtin_tools: ['see'], custom_tool_ids: ['c7'], mcp_server_tags: ['post'] },
    ...{ mcp_server_ids: ['m3'], required_mcp_servers: [], tool_definitions: '' },
  };
  const replies = {
    list_builtin_tools: [{ name: 'see', effect: 'read' }],
    list_custom_tools: page([{ id: 'c7', name: 'pay', effect: 'write' }]),
    list_mcp_servers: page([
      { id: 'm3', name: 'mail', tags: [] },
      { id: 'm5', name: 'letters', tags: ['post', 'slow'] },
      { id: 'm7', name: 'of others', tags: ['slow'] },
    ]),
    list_mcp_tools: ({ params: { id } }: { params: { id: string } }) =>
      id === 'm3' ? { tools: [{ name: 'send', effect: 'write' }], listed_at: '2019-03-03' } : { tools: [], listed_at: null },
  };
  const about = (more: object) => toText(control({ control: 'guarded_tools' }, { ...agent, ...more }, replies));

  it('names those that it does not know, and the servers that have not listed theirs', () => {
    expect(about({})).toContain('Not among the tools that are known: gone. Not listed yet: the tools of letters.');
    expect(about({ it: ['pay'], mcp_server_tags: [] })).not.toMatch(/Not among|Not listed/);
  });

  it.each([
    ['a function that the model gets', '[{"type":"function","function":{"name":"gone"}}]', true],
    ['a tool without a function', '[{"type":"web_search"}]', false],
    ['a text that is not a list', '{"function":{"name":"gone"}}', false],
    ['a text that is not JSON yet', '[{"function"', false],
  ])('knows the definitions of tools: %s', (_, tool_definitions, is_known) => {
    expect(about({ tool_definitions }).includes('Not among the tools that are known: gone.')).toBe(!is_known);
  });
});

describe('the due times of a schedule that is being written', () => {
  const VALUES = { interval_value: 7, interval_unit: 'days', cron: '', time_zone: 'Asia/Tokyo', start_at: '', end_at: '' };
  const shown = (values: object, reply?: object) =>
    toText(
      the.render(the.SchedulePreview, { props: { values: { ...VALUES, ...values } }, replies: { preview_schedule: reply } }),
    );
  const due_times = ['2026-02-01T12:00:00.000Z', '2026-02-08T13:00:00.000Z'];

  it('are shown by the clock of the person, and by that of its cron expression', () => {
    expect(shown({ interval_value: '' })).toBe('');
    expect(shown({ interval_unit: null })).toBe('');
    expect(shown({}, { due_times })).toMatch(/In your time zone 1 Feb, 12:00 UTC .*8 Feb, 13:00 UTC/);
    expect(shown({}, { due_times })).not.toContain('Asia/Tokyo');
    expect(shown({ cron: '0 21 * * *' }, { due_times })).toMatch(/In Asia\/Tokyo.*21:00 GMT\+9/);
    expect(shown({ end_at: '2019-03-03T12:00' }, { due_times: [] })).toContain('Never: the schedule has ended.');
  });

  it('are missing with a reason', () => {
    const problem = (errors: object[]) => Object.assign(new Error('The schedule is not valid'), { errors });
    expect(shown({ cron: '7' }, problem([{ message: 'Write five fields' }, { message: 'Name a zone' }]))).toContain(
      'Write five fields. Name a zone',
    );
    expect(shown({ cron: '7' }, problem([]))).toContain('The schedule is not valid');
  });
});
