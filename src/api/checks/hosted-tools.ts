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
  const agent = { provider_id: null, approval_tools: [], ...before, ...values };
  const hosted = (agent.tool_definitions ?? []).flatMap((tool, index) => (isHosted(tool) ? [{ tool, index }] : []));
  if (hosted.length === 0) return [];
  const changes = (...fields: (keyof StoredAgent)[]) => fields.some((field) => values[field] !== undefined);
  const fault = ({ index }: { index: number }, message: string): FieldError => ({
    path: changes('tool_definitions') ? `tool_definitions.${index}` : 'provider_id',
    message,
  });
  const faults: FieldError[] = [];
  if (changes('tool_definitions', 'provider_id')) {
    // A missing provider is reported elsewhere, and no run starts without it.
    const provider = isUuid(agent.provider_id ?? '') ? await providers.find(agent.provider_id as string) : null;
    const known = provider !== null || agent.provider_id === null;
    if (known && !runsHosted(provider)) faults.push(...hosted.map((one) => fault(one, whoRuns(one.tool, provider))));
    const named = hosted.filter(({ tool }, place) => hosted.findIndex((other) => other.tool.name === tool.name) < place);
    faults.push(...named.map((one) => fault(one, `The vendor takes one tool named \`${one.tool.name}\`; remove the others`)));
  }
  if (changes('tool_definitions', 'approval_tools', 'approve_effects')) {
    const tools = hosted.map(({ tool }) => tool);
    const unkept = unkeptGuard(tools, changes('approval_tools') ? { ...agent, approval_guards: [] } : agent);
    if (unkept) faults.push({ path: unkept.field, message: unkept.message });
  }
  return faults;
}
