import { type BuiltinTool, builtinTools } from '../../contracts/builtin-tools.ts';
import { type Api, mount } from '../http/mount.ts';

export function builtinToolRoutes(api: Api, { builtin_tools }: { builtin_tools: BuiltinTool[] }): void {
  mount(api, builtinTools.list, async () => builtin_tools);
}
