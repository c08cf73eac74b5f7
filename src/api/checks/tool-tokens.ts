import type { Warning } from '../../contracts/common.ts';
import type { CustomTool } from '../../contracts/custom-tools.ts';
import type { Caller } from '../../identity/caller.ts';
import type { Store } from '../../store/index.ts';

type Mapped = Pick<CustomTool, 'id' | 'name' | 'env_config'>;

/** Warns about variables of a tool that no stored token fills; `needs` names tokens that are missing. */
export const listVariableWarnings = ({ id, env_config = {} }: Mapped): Warning[] =>
  Object.entries(env_config)
    .filter(([, { token_name }]) => !token_name)
    .map(([variable]) => ({
      path: `env_config.${variable}`,
      message: `No stored token fills \`${variable}\`: calls of this tool fail until you name one with PUT /api/custom-tools/${id}/env-mapping`,
    }));

interface ToolUser {
  custom_tool_ids: string[];
  /** Stored tokens by the variables that they fill; they replace the tool's own mapping. */
  overrides?: Record<string, string>;
}

/** Warns about the tools of an agent whose calls would fail in the caller's runs because a variable has no token. */
export async function listToolTokenWarnings(
  { customTools, tokens }: Pick<Store, 'customTools' | 'tokens'>,
  { custom_tool_ids, overrides = {} }: ToolUser,
  caller: Caller,
): Promise<Warning[]> {
  if (custom_tool_ids.length === 0) return [];
  const declaring = await customTools.declaring(custom_tool_ids);
  const usable = new Set(declaring.length > 0 ? await tokens.listUsableNames(caller.key) : []);
  return declaring.flatMap(({ id, name, env_config = {} }) => {
    const lacking = Object.entries(env_config).filter(([variable, { token_name }]) => {
      const token = overrides[variable] ?? token_name;
      return !token || !usable.has(token);
    });
    const variables = lacking.map(([variable]) => `\`${variable}\``).join(', ');
    const message = `The tool ${name} has no stored token that you can use for ${variables}: its calls fail until one is named with PUT /api/custom-tools/${id}/env-mapping`;
    return lacking.length > 0 ? [{ path: 'custom_tool_ids', message }] : [];
  });
}
