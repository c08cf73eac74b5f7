import { v7 as uuid } from 'uuid';
import type { Score, VersionScores } from '../../contracts/scores.ts';
import type { TaskScore as Row } from '../../generated/prisma/client.ts';
import { type Database, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { scoresByVersion } from './scores.sql.ts';

interface NewScore extends Pick<Score, 'thumb' | 'value' | 'note'> {
  /** The id, if one was reserved for the request. */
  id?: string;
  task_id: string;
  created_by: string;
}

/** Stores people's scores of runs. */
export function scoreStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  const toScore = (row: Row) => wireAs<Score>()(row);
  return {
    list: (task_id: string, paging: Paging) => listPage(prisma.taskScore, { where: { task_id }, paging, toItem: toScore }),
    async find(id: string) {
      const score = await prisma.taskScore.findUnique({ where: { id } });
      return score && toScore(score);
    },
    create: async (values: NewScore) => toScore(await prisma.taskScore.create({ data: { id: uuid(), ...values } })),
    async remove(task_id: string, id: string): Promise<boolean> {
      return (await prisma.taskScore.deleteMany({ where: { id, task_id } })).count > 0;
    },
    async listByVersion(workflow_id: string): Promise<VersionScores[]> {
      const scores = await rows<VersionScores & { last_run_at: unknown }>(pool, scoresByVersion({ workflow_id }));
      return scores.map(({ last_run_at, ...rest }) => ({ ...rest, last_run_at: (last_run_at as unknown as Date).toISOString() }));
    },
  };
}
