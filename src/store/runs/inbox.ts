import type pg from 'pg';
import type { InboxItem, InboxQuery } from '../../contracts/inbox.ts';
import { rows } from '../database/database.ts';
import { badCursor, cutPage, type RowPage, toCursor, wireAs } from '../database/page.ts';
import { listInbox } from './inbox.sql.ts';

type Row = Omit<InboxItem, 'waiting_since'> & { waiting_since: Date };
/** There is one row without an item if the page is empty. */
type Counted = { total: number } & (Row | { id: null });

/** Reads the decisions that runs wait for. */
export const inboxStore = (pool: pg.Pool) => ({
  async list({ owner, cursor, limit, ...filter }: InboxQuery & { owner: string }): Promise<RowPage<InboxItem>> {
    const { kind = null, task_id = null, workflow_id = null, agent_id = null, tool = null } = filter;
    const after = parseInboxCursor(cursor);
    const page = { after_time: after?.time ?? null, after_id: after?.id ?? null, most: limit + 1 };
    const found = await rows<Counted>(
      pool,
      listInbox({ owner, of_kind: kind, of_task: task_id, of_workflow: workflow_id, of_agent: agent_id, of_tool: tool, ...page }),
    );
    const items = found.flatMap((row) => (row.id === null ? [] : toItem(row)));
    const { total } = found[0]!;
    return cutPage(items, { total, limit, getCursor: ({ waiting_since, id }) => toCursor(`${waiting_since} ${id}`) });
  },
});

const toItem = ({ total: _, ...item }: Counted & Row) => wireAs<InboxItem>()(item);

function parseInboxCursor(cursor: string | undefined): { time: Date; id: string } | null {
  if (cursor === undefined) return null;
  const [time = '', id = ''] = Buffer.from(cursor, 'base64url').toString('utf8').split(' ');
  if (id === '' || Number.isNaN(Date.parse(time))) throw badCursor();
  return { time: new Date(time), id };
}
