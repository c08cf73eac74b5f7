import type { Task } from '../../contracts/tasks.ts';

/** A prompt and its files as a request sends them. The files of an earlier run can be sent again: the new run refers to them as well. */
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
