import { TERSE_ANSWER, terse } from './caveman.ts';
import type { Definition } from './definition.ts';

const JSON_ANSWER = 'Give your final answer as one JSON value and nothing else: no code fence, no text before or after it.';

/** Builds the system prompt of a run: the agent's persona, its skills, what the request says, and the format of the answer. */
export function buildInstructions({ agent, instructions, skills, settings, output_schema }: Definition): string {
  const parts = [agent.system_prompt];
  for (const skill of skills) parts.push(`## Skill: ${skill.name}\n\n${skill.instructions}`);
  if (instructions) parts.push(instructions);
  if (settings.output_format === 'json' || output_schema) parts.push(JSON_ANSWER);
  const whole = parts.filter((part) => part.trim() !== '').join('\n\n');
  const text = settings.caveman ? `${terse(whole)}\n\n${TERSE_ANSWER}` : whole;
  return output_schema ? `${text}\n\n${schemaSentence(output_schema)}` : text;
}

const schemaSentence = (output_schema: Record<string, unknown>) =>
  `The JSON value has to be valid against this JSON Schema:\n\n${JSON.stringify(output_schema)}`;
