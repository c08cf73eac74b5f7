import type { FieldError } from '../../domain/errors.ts';
import { isHosted, runsHosted, unkeptGuard, whoRuns } from '../../domain/hosted-tools.ts';
import { isUuid } from '../../domain/uuid.ts';
import type { Store } from '../../store/index.ts';
import type { StoredAgent } from '../../store/resources/agents.ts';

/** Returns the reasons why an agent, with these changes, cannot have its tools that a vendor runs. */
export async function listHostedToolErrors(
  { providers }: Pick<Store, 'providers'>,
  values: Partial<StoredAgent>,
  before: StoredAgent | null,
): Promise<FieldError[]> {
  const agent = { provider_id: null, tool_definitions: [], approval_tools: [], approval_guards: [], ...before, ...values };
  const hosted_tools = agent.tool_definitions.flatMap((tool, index) => (isHosted(tool) ? [{ tool, index }] : []));
  if (hosted_tools.length === 0) return [];
  const changes = (...fields: (keyof StoredAgent)[]) => fields.some((field) => values[field] !== undefined);
  const createError = ({ index }: { index: number }, message: string): FieldError => ({
    path: changes('tool_definitions') ? `tool_definitions.${index}` : 'provider_id',
    message,
  });
  const errors: FieldError[] = [];
  if (changes('tool_definitions', 'provider_id')) {
    // A missing provider is reported elsewhere, and no run starts without it.
    const provider = isUuid(agent.provider_id ?? '') ? await providers.find(agent.provider_id as string) : null;
    const provider_exists = provider !== null || agent.provider_id === null;
    if (provider_exists && !runsHosted(provider))
      errors.push(...hosted_tools.map((one) => createError(one, whoRuns(one.tool, provider))));
    const duplicates = hosted_tools.filter(
      ({ tool }, place) => hosted_tools.findIndex((other) => other.tool.name === tool.name) < place,
    );
    errors.push(
      ...duplicates.map((one) => createError(one, `The vendor takes one tool named \`${one.tool.name}\`; remove the others`)),
    );
  }
  if (changes('tool_definitions', 'approval_tools', 'approve_effects')) {
    const tools = hosted_tools.map(({ tool }) => tool);
    const unkept = unkeptGuard(tools, changes('approval_tools') ? { ...agent, approval_guards: [] } : agent);
    if (unkept) errors.push({ path: unkept.field, message: unkept.message });
  }
  return errors;
}
