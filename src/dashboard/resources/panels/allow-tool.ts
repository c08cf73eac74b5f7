import { mcps } from '../../../contracts/mcps.ts';
import { ApiProblem, type Client, isStale } from '../../api/call.ts';
import { ATTEMPTS } from '../versions.ts';

export interface Tick {
  name: string;
  on: boolean;
}

/** Changes one tool in the stored list, so that another person's changes are kept. */
export async function allowTool(
  { tagged, call }: Client,
  { id, all }: { id: string; all: string[] },
  { name, on }: Tick,
): Promise<void> {
  const params = { id };
  for (let attempt = 1; ; attempt++) {
    const { value, tag } = await tagged(mcps.get, { params });
    const before = value.allowed_tools.length > 0 ? value.allowed_tools : all;
    const after = [...before.filter((other) => other !== name), ...(on ? [name] : [])];
    // An empty list would allow all tools.
    if (after.length === 0)
      throw new ApiProblem({ status: 409, code: 'last_tool', detail: 'At least one tool must stay selected' });
    const allowed_tools = all.every((each) => after.includes(each)) ? [] : after;
    try {
      return void (await call(mcps.update, { params, body: { allowed_tools }, if_match: tag }));
    } catch (error) {
      if (!isStale(error) || attempt === ATTEMPTS) throw error;
    }
  }
}
