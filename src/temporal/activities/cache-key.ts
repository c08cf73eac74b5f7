import { createHash } from 'node:crypto';

/** Returns a key that all runs of one workflow share, and that shows a vendor neither its id nor its owner. */
export const createCacheKey = ({ workflow_id, owner }: { workflow_id: string; owner: string }): string =>
  createHash('sha256')
    .update(JSON.stringify([workflow_id, owner]))
    .digest('hex')
    .slice(0, 32);
