import type { Task } from '../../contracts/tasks.ts';

/**
 * Builds the request for a prompt and its files. The files of an earlier run can be sent again: the new run refers to them as
 * well.
 */
export const toPromptBody = ({
  prompt,
  attachments,
}: {
  prompt: string;
  attachments: readonly Task['attachments'][number][];
}) => ({
  prompt,
  ...(attachments.length > 0 && { attachments: attachments.map(({ id }) => ({ id })) }),
});
