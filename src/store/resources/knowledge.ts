import type pg from 'pg';
import { v7 as uuid } from 'uuid';
import type { KnowledgeItem } from '../../contracts/knowledge.ts';
import type { Passage } from '../../domain/knowledge.ts';
import type { PrismaClient } from '../../generated/prisma/client.ts';
import { inTransaction, row, rows } from '../database/database.ts';
import { listPage, wire } from '../database/page.ts';
import { conditions, type RowFilter, translateConstraintErrors } from '../database/resource.ts';
import * as sql from './knowledge.sql.ts';

export interface ItemValues {
  source_id: string;
  name: string;
  description: string;
  content_type: string;
  content: string;
  tags: string[];
  metadata: Record<string, unknown>;
  created_by: string;
}

interface Indexed {
  chunks: { content: string; embedding: number[] | null }[];
  embedder: string | null;
  status: string;
  last_error: string | null;
}

interface ChunkSearch {
  words: string[];
  vector: number[] | null;
  embedder: string | null;
  tags: string[] | undefined;
  source_ids: string[] | undefined;
  limit: number;
}

interface ItemFilter extends RowFilter {
  source_id?: string | undefined;
  content_type?: string | undefined;
}

const SHOWN = { omit: { content: true }, include: { _count: { select: { chunks: true } } } } as const;

interface Row {
  id: string;
  _count: { chunks: number };
}

const itemOfRow = ({ _count, ...item }: Row) => ({ ...wire(item), chunks: _count.chunks }) as unknown as KnowledgeItem;

export function knowledgeItemStore(pool: pg.Pool, prisma: PrismaClient) {
  // The extension compares vectors many times faster; without it, arrays are compared.
  let extension: Promise<boolean> | undefined;
  const hasExtension = () => {
    extension ??= rows(pool, sql.hasVector()).then(
      (extension_rows) => extension_rows.length > 0,
      (error) => {
        extension = undefined;
        throw error;
      },
    );
    return extension;
  };

  const find = async (id: string) => {
    const item = await prisma.knowledgeItem.findUnique({ where: { id }, ...SHOWN });
    return item && itemOfRow(item);
  };

  return {
    list({ source_id, content_type, ...filter }: ItemFilter) {
      const same = { ...(source_id ? { source_id } : {}), ...(content_type ? { content_type } : {}) };
      const where = { AND: [same, ...conditions(filter, { tagged: true, searched: ['name', 'description'] })] };
      return listPage(prisma.knowledgeItem, { where, paging: filter, toItem: itemOfRow, more: SHOWN });
    },
    find,
    content: (id: string) =>
      prisma.knowledgeItem.findUnique({ where: { id }, select: { id: true, name: true, content_type: true, content: true } }),
    /** Writes an item and its chunks in one transaction. Replaces existing ones. */
    async write(values: ItemValues, indexed: Indexed, id: string = uuid()): Promise<KnowledgeItem> {
      await inTransaction(pool, async (on) => {
        const { chunks, embedder, status, last_error } = indexed;
        const metadata = JSON.stringify(values.metadata);
        await row(on, sql.writeKnowledgeItem({ ...values, id, metadata, status, last_error }));
        await row(on, sql.dropKnowledgeChunks({ item_id: id }));
        const contents = chunks.map(({ content }) => content);
        const vectors = chunks.map(({ embedding }) => (embedding ? `{${embedding.join(',')}}` : '{}'));
        await row(on, sql.addKnowledgeChunks({ item_id: id, contents, vectors, embedder }));
      });
      return (await find(id)) as KnowledgeItem;
    },
    /** Changes the fields that are not indexed. */
    async describe(id: string, values: object): Promise<KnowledgeItem> {
      return itemOfRow(
        await translateConstraintErrors('knowledge item', prisma.knowledgeItem.update({ where: { id }, data: values, ...SHOWN })),
      );
    },
    async remove(id: string): Promise<void> {
      await translateConstraintErrors('knowledge item', prisma.knowledgeItem.delete({ where: { id } }));
    },
    count: (source_id: string) => prisma.knowledgeItem.count({ where: { source_id } }),

    /** Returns the best chunks first; without words and a vector, those of the newest items. */
    async search({ words, vector, embedder, tags, source_ids, limit }: ChunkSearch): Promise<Passage[]> {
      const filters = { source_ids: source_ids ?? null, tags: tags?.length ? tags : null, limit };
      if (words.length === 0 && !vector) return rows<Passage>(pool, sql.newestKnowledge(filters));
      const query = words.map((word) => `'${word}'`).join(' | ');
      const near = vector ? `{${vector.join(',')}}` : null;
      const best = (await hasExtension()) ? sql.searchPassagesExtended : sql.searchPassages;
      return rows<Passage>(pool, best({ ...filters, words: query, vector: near, embedder }));
    },
  };
}
