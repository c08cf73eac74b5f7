import { statement } from '../database/statement.ts';
import { MOST, PRESENT, SPENT_OF } from './caps-parts.ts';

/** True if a row joins by its tag: its creator is `owner` or an administrator (in `:admins`). */
const isJoinedByTag = (row: string, owner: string) =>
  `(${row}.created_by = ${owner} OR ${row}.created_by = ANY (:admins::text[]))`;

/** True if guardrail `g` belongs to a workflow. */
const isGuardOf = (workflow: string) =>
  `(g.id::text = ANY (${workflow}.guardrail_ids) OR g.tags && ${workflow}.guardrail_tags AND ${isJoinedByTag('g', `${workflow}.owner`)})`;

/** Resources that have a tag of agent `a`, were created by someone else, and are not named by id. */
const NOT_JOINED_AGENT = `
    SELECT 'mcp_server_tags' AS path, 'mcp_server_ids' AS ids, 'MCP server ' || m.name AS sentence FROM mcp_servers m
      WHERE m.tags && a.mcp_server_tags AND NOT m.id::text = ANY (a.mcp_server_ids || a.required_mcp_servers)
        AND NOT ${isJoinedByTag('m', 'a.created_by')}
    UNION ALL SELECT 'knowledge_tags', 'knowledge_source_ids', 'knowledge source ' || k.name FROM knowledge_sources k
      WHERE k.tags && a.knowledge_tags AND NOT k.id::text = ANY (a.knowledge_source_ids) AND NOT ${isJoinedByTag('k', 'a.created_by')}`;

/** Resources that have a tag of workflow `w`, were created by someone else, and are not named by id. */
const NOT_JOINED_WORKFLOW = `
    SELECT 'skill_tags' AS path, 'skill_ids' AS ids, 'skill ' || s.name AS sentence FROM skills s
      WHERE s.tags && w.skill_tags AND NOT s.id::text = ANY (w.skill_ids) AND NOT ${isJoinedByTag('s', 'w.owner')}
    UNION ALL SELECT 'guardrail_tags', 'guardrail_ids', 'guardrail ' || g.name FROM guardrails g
      WHERE g.enabled AND g.tags && w.guardrail_tags AND NOT g.id::text = ANY (w.guardrail_ids) AND NOT ${isJoinedByTag('g', 'w.owner')}`;

const NOT_JOINED = `${NOT_JOINED_AGENT} UNION ALL ${NOT_JOINED_WORKFLOW}`;

/** Lists the resources that would not join an agent with these values, which are given as the columns of its table. */
export const unjoinedOfAgent = statement(
  'unjoined_of_agent',
  ['created_by', 'mcp_server_tags', 'mcp_server_ids', 'required_mcp_servers', 'knowledge_tags', 'knowledge_source_ids', 'admins'],
  `SELECT DISTINCT path, ids, sentence FROM (
      SELECT :created_by::text AS created_by, :mcp_server_tags::text[] AS mcp_server_tags, :mcp_server_ids::text[] AS mcp_server_ids,
        :required_mcp_servers::text[] AS required_mcp_servers, :knowledge_tags::text[] AS knowledge_tags,
        :knowledge_source_ids::text[] AS knowledge_source_ids) a, LATERAL (${NOT_JOINED_AGENT}) n ORDER BY 1, 3 LIMIT 100`,
);

export const unjoinedOfWorkflow = statement(
  'unjoined_of_workflow',
  ['owner', 'skill_tags', 'skill_ids', 'guardrail_tags', 'guardrail_ids', 'admins'],
  `SELECT DISTINCT path, ids, sentence FROM (
      SELECT :owner::text AS owner, :skill_tags::text[] AS skill_tags, :skill_ids::text[] AS skill_ids,
        :guardrail_tags::text[] AS guardrail_tags, :guardrail_ids::text[] AS guardrail_ids) w,
      LATERAL (${NOT_JOINED_WORKFLOW}) n ORDER BY 1, 3 LIMIT 100`,
);

export const notJoinedByTag = statement(
  'not_joined_by_tag',
  ['admins'],
  `SELECT DISTINCT n.sentence || ' does not join the workflow ' || coalesce(w.title, w.id::text) || ' of ' || w.owner_login AS sentence
    FROM workflows w JOIN agents a ON a.id = w.agent_id, LATERAL (${NOT_JOINED}) n ORDER BY 1`,
);

/** The fallbacks of agent `a`, or else those of its provider `p`. */
const FALLBACKS = "(CASE WHEN a.fallbacks <> '[]' THEN a.fallbacks ELSE coalesce(p.fallbacks, '[]') END)";

const FALLBACK_PROVIDERS = `CASE WHEN ${FALLBACKS} = '[]' THEN '[]' ELSE coalesce((SELECT jsonb_agg(to_jsonb(f) ORDER BY f.id) FROM providers f
        WHERE f.id::text IN (SELECT one #>> '{}' FROM jsonb_path_query(${FALLBACKS}, '$[*].provider_id') one)), '[]') END`;

/** The budgets that a new run of workflow `w` with agent `a` is charged to, as in src/domain/cap-states.ts. */
const CAP_STATES = `coalesce((SELECT jsonb_agg(jsonb_build_object('budget_id', b.id, 'name', b.name,
          'unit', CASE WHEN b.limit_usd IS NULL THEN 'tokens' ELSE 'usd' END, 'limit', ${MOST}, 'spent', ${SPENT_OF},
          'ends_at', to_char(present.ends_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'on_exhausted', b.on_exhausted,
          'warn_at', b.warn_at, 'is_short', EXISTS (SELECT FROM budget_waits s WHERE s.budget_id = b.id AND s.reason = 'exhausted'
            AND s.since >= present.starts_at AND s.least > ${MOST} - ${SPENT_OF})) ORDER BY b.id)
        FROM budgets_for(w.owner, :service_key_id::uuid, a.id, w.id, :scheduled_agent_id::uuid) b ${PRESENT}), '[]')`;

/**
 * Returns everything that a run of a workflow uses. Anyone could create a resource with a tag, so a tag joins only those of the
 * owner or an administrator. A chat has a workflow without settings, so the guardrails of its owner's workflows with the agent apply.
 */
export const snapshotWorkflow = statement(
  'snapshot_workflow',
  ['workflow_id', 'admins', 'service_key_id', 'scheduled_agent_id'],
  `SELECT to_jsonb(w) AS workflow, to_jsonb(a) AS agent, to_jsonb(p) AS provider, ${FALLBACK_PROVIDERS} AS fallback_providers,
      coalesce((SELECT jsonb_agg(to_jsonb(t) ORDER BY array_position(a.custom_tool_ids, t.id::text)) FROM custom_tools t
        WHERE t.id::text = ANY (a.custom_tool_ids) AND t.is_enabled), '[]') AS tools,
      coalesce((SELECT jsonb_agg(jsonb_build_object('id', m.id, 'name', m.name, 'transport_type', m.transport_type,
          'connection_config', m.connection_config, 'allowed_tools', m.allowed_tools, 'network', m.network, 'paths', m.paths,
          'required', m.id::text = ANY (a.required_mcp_servers))
          || CASE WHEN m.is_enabled THEN '{}'::jsonb ELSE '{"disabled": true}' END
          || CASE WHEN m.allow_secret_questions THEN '{"allow_secret_questions": true}'::jsonb ELSE '{}' END
          || CASE WHEN m.state THEN '{"state": true}'::jsonb ELSE '{}' END
          || CASE m.protocol WHEN 'auto' THEN '{}' ELSE jsonb_build_object('protocol', m.protocol) END
          || CASE m.connect_seconds WHEN 30 THEN '{}' ELSE jsonb_build_object('connect_seconds', m.connect_seconds) END
          ORDER BY array_position(a.mcp_server_ids, m.id::text) NULLS LAST, m.id)
        FROM mcp_servers m WHERE m.id::text = ANY (a.mcp_server_ids || a.required_mcp_servers) OR m.tags && a.mcp_server_tags
          AND ${isJoinedByTag('m', 'a.created_by')}), '[]')
        AS mcp_servers,
      coalesce((SELECT jsonb_agg(jsonb_build_object('name', s.name, 'instructions', s.instructions)
          ORDER BY array_position(w.skill_ids, s.id::text) NULLS LAST, s.id) FROM skills s
        WHERE s.id::text = ANY (w.skill_ids) OR s.tags && w.skill_tags AND ${isJoinedByTag('s', 'w.owner')}), '[]') AS skills,
      coalesce((SELECT jsonb_agg(jsonb_build_object('name', g.name, 'guardrail_type', g.guardrail_type, 'config', g.config)
          ORDER BY array_position(w.guardrail_ids, g.id::text) NULLS LAST, g.id) FROM guardrails g
        WHERE g.enabled AND (${isGuardOf('w')} OR w.single_use AND w.remember = 'thread' AND EXISTS (
          SELECT 1 FROM workflows o WHERE o.agent_id = w.agent_id AND o.owner = w.owner AND ${isGuardOf('o')}))), '[]') AS guardrails,
      coalesce((SELECT jsonb_agg(k.id ORDER BY array_position(a.knowledge_source_ids, k.id::text) NULLS LAST, k.id)
        FROM knowledge_sources k WHERE k.id::text = ANY (a.knowledge_source_ids) OR k.tags && a.knowledge_tags
          AND ${isJoinedByTag('k', 'a.created_by')}), '[]') AS knowledge_source_ids,
      coalesce((SELECT jsonb_agg(DISTINCT n.sentence) FROM (${NOT_JOINED}) n), '[]') AS not_joined,
      coalesce((SELECT jsonb_agg(jsonb_build_object('name', coalesce(t.name, u.id),
          'reason', CASE WHEN t.id IS NULL THEN 'there is no such custom tool' ELSE 'it is disabled' END) ORDER BY u.position)
        FROM unnest(a.custom_tool_ids) WITH ORDINALITY u (id, position) LEFT JOIN custom_tools t ON t.id::text = u.id
        WHERE t.is_enabled IS NOT TRUE), '[]') AS tools_left_out,
      ${CAP_STATES} AS caps
    FROM workflows w JOIN agents a ON a.id = w.agent_id LEFT JOIN providers p ON p.id = a.provider_id WHERE w.id = :workflow_id`,
);

export const partsOfFork = statement(
  'parts_of_fork',
  ['workflow_id', 'provider_id', 'custom_tool_ids'],
  `SELECT to_jsonb(w) AS workflow, (SELECT to_jsonb(p) FROM providers p WHERE p.id = :provider_id::uuid) AS provider,
      coalesce((SELECT jsonb_agg(to_jsonb(t)) FROM custom_tools t WHERE t.id = ANY (:custom_tool_ids::uuid[])), '[]') AS tools
    FROM workflows w WHERE w.id = :workflow_id`,
);
