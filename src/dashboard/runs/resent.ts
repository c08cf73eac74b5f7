import type { Task } from '../../contracts/tasks.ts';

/** What a run was sent, to be sent again: its prompt and its files, which the new run refers to as well. */
export const sentWith = ({ prompt, attachments }: Pick<Task, 'prompt' | 'attachments'>) => ({
  prompt,
  attachments: attachments.map(({ id }) => ({ id })),
});
