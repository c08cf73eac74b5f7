import type { Mutant } from './mutant.ts';

const webhook = (name: string) => ({ file: 'test/api/audit-webhook.test.ts', name });
const IN_ORDER = webhook('receives every entry in order');
const ONE_SENDER = webhook('is sent by one of several processes at a time');

export default [
  {
    id: 'audit/undelivered-forgotten',
    file: 'src/store/people/audit.ts',
    text: 'if (entries.length > 0 && !(await send(entries))) return 0;',
    replacement: 'if (entries.length > 0) await send(entries);',
    harm: 'What happens while the receiver is unavailable is missing in the place where auditors look.',
    tests: [IN_ORDER],
  },
  {
    id: 'audit/several-senders',
    file: 'src/store/people/audit.ts',
    text: 'if (!(await row<{ taken: boolean }>(connection, takeAuditTurn()))?.taken) return null;',
    replacement: 'await row(connection, takeAuditTurn());',
    harm: 'Every process sends every entry.',
    tests: [ONE_SENDER],
  },
  {
    id: 'audit/newest-first',
    file: 'src/store/people/audit.ts',
    text: "orderBy: { seq: 'asc' }",
    replacement: "orderBy: { seq: 'desc' }",
    harm: 'The receiver learns that a grant was used before it learns of the grant.',
    tests: [IN_ORDER],
  },
  {
    id: 'audit/address-in-log',
    file: 'src/api/service/audit-sender.ts',
    text: 'const receiver = new URL(url).host;',
    replacement: 'const receiver = url;',
    harm: 'The key in the address of the receiver is in the log.',
    tests: [IN_ORDER],
  },
] satisfies Mutant[];
