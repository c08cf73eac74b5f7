import type { TextToAdmit } from './fork.ts';
import type { PromptOrder } from './new-task.ts';

/** The prompt as guardrails check it. */
export const toPromptText = ({ prompt, receipt }: Pick<PromptOrder, 'prompt' | 'receipt'>): TextToAdmit => ({
  path: receipt ? 'message' : 'prompt',
  text: prompt,
});

/** The texts of a prompt that guardrails check. What a conversation was given before counts as the beginning of the prompt. */
export const toTexts = ({
  instructions,
  given_before,
  ...sent
}: Pick<PromptOrder, 'prompt' | 'instructions' | 'receipt' | 'given_before'>): TextToAdmit[] => [
  ...(instructions ? [{ path: 'instructions', text: instructions }] : []),
  toPromptText(sent),
  ...(given_before ? [{ path: 'conversation', text: `${given_before.text}\n\n${sent.prompt}` }] : []),
];
