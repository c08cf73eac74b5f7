import { SOURCE_TYPES } from '../contracts/knowledge.ts';
import type { FullImport } from '../contracts/transfer.ts';
import { mapTexts } from '../domain/secrets.ts';
import type { Prisma } from '../generated/prisma/client.ts';
import { KNOWLEDGE_SOURCE } from './connections.ts';
import type { KeyRing } from './key-ring.ts';
import { configSealer, MASK } from './sealed-config.ts';

/** What may be imported at once; a part left out is empty. */
export type ImportParts = Partial<Pick<FullImport, 'skills' | 'agents' | 'workflows' | 'knowledge_sources'>>;
export type PartName = keyof ImportParts;

export interface Importer {
  /** `provider:subject` and login. */
  key: string;
  login: string;
}

/** What an item would become; `values` is null where `error` says why it becomes nothing. */
export interface Draft {
  title: string | null;
  values: object | null;
  error: string | null;
  warnings: string[];
}

export type DraftMaker = (items: object[]) => Promise<Draft[]>;

type Items<P extends PartName> = FullImport[P];
type Tables = Pick<Prisma.TransactionClient, 'agent' | 'storedToken'>;

/** Another name of what is kept here. */
const ALIASES: Record<string, string> = { mongo_db: 'builtin' };

const refusal = (title: string | null, error: string): Draft => ({ title, values: null, error, warnings: [] });
const draft = (title: string | null, values: object, warnings: string[] = []): Draft => ({
  title,
  values,
  error: null,
  warnings,
});

/** How items of each part are judged, each part at once and not an item at a time. */
export function draftMakers(tx: Tables, { importer, keys }: { importer: Importer; keys: KeyRing }): Record<PartName, DraftMaker> {
  const created_by = importer.key;
  const makers = {
    async skills(items: Items<'skills'>) {
      return items.map(({ id: _, ...item }) => draft(item.name, { ...item, created_by }));
    },
    async knowledge_sources(items: Items<'knowledge_sources'>) {
      const sealer = configSealer(keys, KNOWLEDGE_SOURCE);
      return items.map(({ id: _, source_type: given, connection_config, ...item }) => {
        const source_type = ALIASES[given] ?? given;
        if (!(SOURCE_TYPES as readonly string[]).includes(source_type))
          return refusal(item.name, `source_type: ${given} is none of ${SOURCE_TYPES.join(', ')}`);
        const values = { ...item, source_type, connection_config: sealer.seal(connection_config), created_by };
        return draft(item.name, values, maskedIn(connection_config));
      });
    },
    async agents(items: Items<'agents'>) {
      return items.map(({ id: _, ...item }) => {
        if (item.provider_id !== null && !/^[0-9a-f-]{36}$/.test(item.provider_id))
          return refusal(item.name, `provider_id: No provider can have the id ${item.provider_id}`);
        return draft(item.name, { ...item, created_by });
      });
    },
    async workflows(items: Items<'workflows'>) {
      const agents = await existingAgents(
        tx,
        items.map(({ agent_id }) => agent_id),
      );
      const tokens = await existingTokens(tx, items.flatMap(tokensOf));
      return items.map(({ id: _, ...item }) => {
        if (!agents.has(item.agent_id))
          return refusal(item.title, `agent_id: No agent has the id ${item.agent_id}; import agents first`);
        const unknown = tokensOf(item).filter((name) => !tokens.has(name));
        const warnings = unknown.map((name) => `There is no stored token named ${name} here yet`);
        return draft(item.title, { ...item, owner: importer.key, owner_login: importer.login }, warnings);
      });
    },
  };
  return makers as unknown as Record<PartName, DraftMaker>;
}

const tokensOf = ({
  repo_token_name,
  credential_overrides,
}: Pick<Items<'workflows'>[number], 'repo_token_name' | 'credential_overrides'>) => [
  ...(repo_token_name ? [repo_token_name] : []),
  ...Object.values(credential_overrides),
];

function maskedIn(config: unknown): string[] {
  const paths: string[] = [];
  mapTexts(config, (text, { path }) => {
    if (text === MASK) paths.push(path);
    return text;
  });
  return paths.map((path) => `connection_config.${path} was masked in the bundle; set it anew`);
}

async function existingAgents(tx: Tables, ids: string[]): Promise<Set<string>> {
  const possible = [...new Set(ids.filter((id) => /^[0-9a-f-]{36}$/.test(id)))];
  return new Set((await tx.agent.findMany({ where: { id: { in: possible } }, select: { id: true } })).map(({ id }) => id));
}

async function existingTokens(tx: Tables, names: string[]): Promise<Set<string>> {
  return new Set(
    (await tx.storedToken.findMany({ where: { name: { in: names } }, select: { name: true } })).map(({ name }) => name),
  );
}
