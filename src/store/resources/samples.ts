import { v7 as uuid } from 'uuid';
import type { Prisma, PrismaClient } from '../../generated/prisma/client.ts';

/** The records of a sample, without ids and owner. */
export interface Sample {
  provider: Omit<Prisma.ProviderUncheckedCreateInput, 'id' | 'created_by'>;
  tool: Omit<Prisma.CustomToolUncheckedCreateInput, 'id' | 'created_by'>;
  agent: Omit<Prisma.AgentUncheckedCreateInput, 'id' | 'created_by'>;
  workflow: Omit<Prisma.WorkflowUncheckedCreateInput, 'id' | 'agent_id' | 'owner' | 'owner_login'>;
}

interface Owner {
  key: string;
  login: string;
}

const SAMPLE = 'sample';
const DEMO_MODEL_URL = 'demo_model_url';
const ADDRESS = /^http:\/\/127\.0\.0\.1:\d+\/v1$/;

export function sampleStore(prisma: PrismaClient) {
  const findFact = async (name: string) => (await prisma.installationFact.findUnique({ where: { name } }))?.value;
  return {
    isSettled: async () => (await findFact(SAMPLE)) !== undefined,
    /** Adds the sample to an empty installation. This is decided once: a deleted sample does not come back. */
    async plant({ provider, tool, agent, workflow }: Sample, { key: created_by, login }: Owner): Promise<boolean> {
      return prisma.$transaction(async (tx) => {
        const tools = { where: { OR: [{ is_plugin: false }, { name: tool.name }] } };
        const own = (await tx.agent.count()) + (await tx.workflow.count()) + (await tx.provider.count());
        const is_empty = own + (await tx.customTool.count(tools)) === 0;
        await tx.installationFact.create({ data: { name: SAMPLE, value: is_empty ? 'added' : 'left out' } });
        if (!is_empty) return false;
        const ids = { provider: uuid(), tool: uuid(), agent: uuid() };
        await tx.provider.create({ data: { ...provider, id: ids.provider, created_by } });
        await tx.customTool.create({ data: { ...tool, id: ids.tool, created_by } });
        const links = { provider_id: ids.provider, custom_tool_ids: [ids.tool] };
        await tx.agent.create({ data: { ...agent, ...links, id: ids.agent, created_by } });
        const owner = { owner: created_by, owner_login: login };
        await tx.workflow.create({ data: { ...workflow, ...owner, id: uuid(), agent_id: ids.agent } });
        return true;
      });
    },
    /**
     * Gives providers with the previous address of the demo model its new one: it may get another port at each start. Leaves a
     * provider with a key unchanged, so that no key is sent to an address that its owner has not seen.
     */
    async moveDemoModel(url: string, { name, model }: { name: string; model: string }): Promise<void> {
      const before = await findFact(DEMO_MODEL_URL);
      if (before !== url) {
        // Older installations did not store the address; the demo's names identify its providers there.
        const unwritten = { name: { equals: name, mode: 'insensitive' as const }, default_model: model };
        const where = { api_key_token_name: null, ...(before ? { base_url: before } : unwritten) };
        const providers = await prisma.provider.findMany({ where, select: { id: true, base_url: true } });
        const outdated_ids = providers.filter(({ base_url }) => base_url && ADDRESS.test(base_url)).map(({ id }) => id);
        await prisma.provider.updateMany({ where: { id: { in: outdated_ids } }, data: { base_url: url } });
      }
      const fact = { value: url };
      await prisma.installationFact.upsert({
        where: { name: DEMO_MODEL_URL },
        create: { name: DEMO_MODEL_URL, ...fact },
        update: fact,
      });
    },
  };
}
