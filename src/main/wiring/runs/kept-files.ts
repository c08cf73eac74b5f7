import { createHash } from 'node:crypto';
import { type AttachedFile, plainFileName } from '../../../domain/attachments.ts';
import { getRefusalSentence } from '../../../domain/errors.ts';
import type { CallToolPorts } from '../../../temporal/activities/call-tool.ts';
import type { SharedServices } from '../../core.ts';

const MIB = 1_024 ** 2;

/**
 * Stores the files that tools return as attachments of the run's owner, linked to the run. What an earlier attempt of the call has
 * stored is not stored again.
 */
export const createFileKeeper =
  ({ store, quotas, setting }: Pick<SharedServices, 'store' | 'quotas' | 'setting'>): CallToolPorts['keepFiles'] =>
  async (call, files) => {
    const earlier_files = await store.attachments.listOfResult(call);
    const kept: AttachedFile[] = [];
    const refused: { name: string; reason: string }[] = [];
    const most_mb = setting.config.ATTACHMENT_MAX_MB;
    for (const { name: own_name, media_type, content } of files) {
      const name = plainFileName(own_name);
      const sha256 = createHash('sha256').update(content).digest('hex');
      const known = earlier_files.find((file) => file.sha256 === sha256 && file.name === name && file.media_type === media_type);
      if (known) {
        kept.push(known);
        continue;
      }
      const reason =
        content.length > most_mb * MIB
          ? `it is larger than ${most_mb} MiB (ATTACHMENT_MAX_MB)`
          : await quotas.admitBytes(call.owner, content.length).then(() => null, getRefusalSentence);
      if (reason) refused.push({ name, reason });
      else kept.push(await store.attachments.create({ name, media_type, content, created_by: call.owner }));
    }
    if (kept.length > 0) await store.attachments.linkToResult(call, kept);
    return { kept, refused };
  };
