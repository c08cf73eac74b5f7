import { v7 as uuid } from 'uuid';
import { type Dataset, type DatasetItem, type DatasetValues, type ItemCall, MOST_ITEMS } from '../../contracts/datasets.ts';
import { conflict } from '../../domain/errors.ts';
import { OUTCOME_UNKNOWN } from '../../domain/transcript.ts';
import type { Dataset as DatasetRow, DatasetItem as ItemRow, Prisma } from '../../generated/prisma/client.ts';
import { type Database, inTransaction, row, rows } from '../database/database.ts';
import { listPage, type Paging, wireAs } from '../database/page.ts';
import { conditions, translateConstraintErrors } from '../database/resource.ts';
import * as sql from '../runs/evaluations.sql.ts';

const NOUN = 'dataset';
const COUNTED = { include: { _count: { select: { items: true } } } };
const IN_USE = 'An evaluation of this dataset is running; halt it or wait for it';

interface NewItem {
  /** The id, if one was reserved for the request. */
  id?: string | undefined;
  dataset_id: string;
  prompt: string;
  expected: unknown;
  calls: ItemCall[];
  source_task_id: string | null;
  created_by: string;
}

type Counted = DatasetRow & { _count: { items: number } };
const toDataset = ({ _count, ...dataset }: Counted): Dataset => ({ ...wireAs<Dataset>()(dataset), item_count: _count.items });
const toDatasetItem = (item: ItemRow) => wireAs<DatasetItem>()(item);

/** Stores datasets and their items. The caller checks who may see them. */
export function datasetStore({ pool, prisma }: Pick<Database, 'pool' | 'prisma'>) {
  return {
    list({ q, ...paging }: Paging & { q?: string | undefined }, created_by: string) {
      const searched = conditions({ ...paging, q }, { tagged: false, searched: ['name', 'description'] });
      return listPage(prisma.dataset, {
        where: { AND: [{ created_by }, ...searched] },
        paging,
        toItem: toDataset,
        more: COUNTED,
      });
    },
    async find(id: string): Promise<Dataset | null> {
      const dataset = await prisma.dataset.findUnique({ where: { id }, ...COUNTED });
      return dataset && toDataset(dataset);
    },
    create: async (values: DatasetValues & { id?: string; created_by: string }): Promise<Dataset> =>
      toDataset(await translateConstraintErrors(NOUN, prisma.dataset.create({ data: { id: uuid(), ...values }, ...COUNTED }))),
    update: async (id: string, data: { name?: string | undefined; description?: string | undefined }): Promise<Dataset> =>
      toDataset(
        await translateConstraintErrors(
          NOUN,
          prisma.dataset.update({ where: { id }, data: data as Prisma.DatasetUpdateInput, ...COUNTED }),
        ),
      ),
    /** Deletes a dataset. Throws while an evaluation of it is running. */
    async remove(id: string): Promise<void> {
      const { count } = await prisma.dataset.deleteMany({ where: { id, evaluations: { none: { status: 'running' } } } });
      if (count === 0) throw conflict(IN_USE, 'evaluation_running');
    },
    items: (dataset_id: string, paging: Paging) =>
      listPage(prisma.datasetItem, { where: { dataset_id }, paging, toItem: toDatasetItem }),
    async findItem(id: string) {
      const item = await prisma.datasetItem.findUnique({ where: { id } });
      return item && toDatasetItem(item);
    },
    async addItem({ id = uuid(), expected, calls, ...values }: NewItem) {
      if ((await prisma.datasetItem.count({ where: { dataset_id: values.dataset_id } })) >= MOST_ITEMS)
        throw conflict(`A dataset holds at most ${MOST_ITEMS} items; start another one`, 'dataset_full');
      const json = { calls: calls as object[], ...(expected === null ? {} : { expected: expected as Prisma.InputJsonValue }) };
      return toDatasetItem(
        await translateConstraintErrors(NOUN, prisma.datasetItem.create({ data: { id, ...values, ...json } })),
      );
    },
    /** Deletes an item. Returns false if the dataset has no such item. Throws while an evaluation of the dataset is running. */
    async removeItem(dataset_id: string, id: string): Promise<boolean> {
      return inTransaction(pool, async (on) => {
        await row(on, sql.lockDataset({ dataset_id }));
        const [removed_item] = await rows<{ running: boolean }>(on, sql.removeDatasetItem({ dataset_id, id }));
        if (removed_item?.running) throw conflict(IN_USE, 'evaluation_running');
        return removed_item !== undefined;
      });
    },
    listRecordedCalls: (task_id: string) =>
      rows<ItemCall>(pool, sql.recordedCallsOfTask({ task_id, outcome_unknown: OUTCOME_UNKNOWN })),
  };
}
