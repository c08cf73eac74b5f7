import type { TextToAdmit } from './fork.ts';
import type { PromptOrder } from './new-task.ts';

/** The prompt as guardrails check it. */
export const toPromptText = ({ prompt, receipt }: Pick<PromptOrder, 'prompt' | 'receipt'>): TextToAdmit => ({
  path: receipt ? 'message' : 'prompt',
  text: prompt,
});

/** The texts of a prompt that guardrails check. */
export const toTexts = ({ instructions, ...sent }: Pick<PromptOrder, 'prompt' | 'instructions' | 'receipt'>): TextToAdmit[] => [
  ...(instructions ? [{ path: 'instructions', text: instructions }] : []),
  toPromptText(sent),
];
