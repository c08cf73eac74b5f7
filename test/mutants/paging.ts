import type { Mutant } from './mutant.ts';

export default [
  {
    id: 'paging/by-time',
    file: 'src/store/database/page.ts',
    text: "orderBy: { [by]: 'desc' }",
    replacement: "orderBy: { created_at: 'desc' }",
    harm: 'Rows that were imported in the same moment are missing from lists, or there twice.',
    tests: [{ file: 'test/api/pages.test.ts', name: 'gives each row once, newest first' }],
  },
  {
    id: 'paging/limit',
    file: 'src/store/database/page.ts',
    text: 'take: limit + 1',
    replacement: 'take: limit',
    harm: 'A list ends after its first page.',
    tests: [{ file: 'test/api/pages.test.ts', name: 'gives each row once, newest first' }],
  },
  {
    id: 'paging/schedules',
    file: 'src/store/resources/scheduled-agents.ts',
    text: 'after ? { id: { lt: after } } : {}',
    replacement: 'after ? { id: { lte: after } } : {}',
    harm: 'The last schedule of a page is repeated on the next.',
    tests: [{ file: 'test/api/pages.test.ts', name: 'gives each row once, newest first' }],
  },
  {
    id: 'paging/sessions',
    file: 'src/store/resources/chat.ts',
    text: "orderBy: { id: 'desc' }, skip",
    replacement: "orderBy: { created_at: 'desc' }, skip",
    harm: 'Chats are missing from the list of sessions, or there twice.',
    tests: [{ file: 'test/api/pages.test.ts', name: 'gives each chat session once' }],
  },
  {
    id: 'paging/due-times',
    file: 'src/store/resources/scheduled-agents.ts',
    text: '{ due_at: { lt: new Date(before) } }',
    replacement: '{ due_at: { lte: new Date(before) } }',
    harm: 'The history of a schedule never ends.',
    tests: [{ file: 'test/api/pages.test.ts', name: 'gives each due time of a schedule once' }],
  },
  {
    id: 'paging/total',
    file: 'src/store/database/page.ts',
    text: 'table.count({ where })',
    replacement: 'table.count({ where: { AND: [where, after ? { id: { lt: after } } : {}] } })',
    harm: 'The total shrinks from page to page.',
    tests: [{ file: 'test/api/pages.test.ts', name: 'gives each row once, newest first' }],
  },
] satisfies Mutant[];
