import { statement } from '../database/statement.ts';

/**
 * Finds a token, decides whether it may be sent, and records the use. A superseded grant stays valid for older tasks, because they are
 * pinned to the destination that it was given for.
 */
export const openToken = statement(
  'open_token',
  [
    ...['use_id', 'token_name', 'principal', 'task_id', 'resource_kind', 'resource_id', 'resource_name'],
    ...['destination', 'destination_label', 'purpose'],
  ],
  `WITH token AS (
      SELECT t.sealed, t.key_id, p.login, CASE
        WHEN NOT (t.shared OR t.created_by = :principal) THEN 'foreign'
        WHEN EXISTS (SELECT 1 FROM secret_grants g WHERE g.token_name = :token_name AND g.granted_by = t.created_by
          AND g.resource_kind = :resource_kind AND g.resource_id = :resource_id AND g.destination = :destination
          AND (g.superseded_at IS NULL OR g.superseded_at > (SELECT created_at FROM tasks WHERE id = :task_id))) THEN 'granted'
        ELSE 'not_granted' END AS verdict
      FROM stored_tokens t LEFT JOIN principals p ON p.id = t.created_by WHERE t.name = :token_name),
    used AS (
      INSERT INTO token_uses
        (id, token_name, principal, task_id, resource_kind, resource_id, resource_name, destination_label, purpose, granted)
      SELECT :use_id, :token_name, :principal, :task_id, :resource_kind, :resource_id, :resource_name, :destination_label, :purpose,
        coalesce((SELECT verdict = 'granted' FROM token), false))
    SELECT sealed, key_id, login, verdict FROM token`,
);

/**
 * Returns the stored tokens whose values a run may see: those that it and the runs it was forked from have used (`met`), and
 * those of the given names that its owner may use. A token that was stored later under the name of a used one is not `met`. It is
 * one statement, because every run executes it.
 */
export const tokensOfRun = statement(
  'tokens_of_run',
  ['task_id', 'names', 'principal'],
  `WITH RECURSIVE runs AS (
      SELECT id, forked_from FROM tasks WHERE id = :task_id
      UNION SELECT t.id, t.forked_from FROM tasks t JOIN runs r ON t.id = r.forked_from),
    used AS (
      SELECT DISTINCT s.id FROM runs r JOIN token_uses u ON u.task_id = r.id AND u.granted
        JOIN stored_tokens s ON s.name = u.token_name AND s.created_at <= u.used_at)
    SELECT s.name, s.sealed, s.key_id, true AS met FROM used JOIN stored_tokens s ON s.id = used.id
    UNION ALL SELECT s.name, s.sealed, s.key_id, false FROM stored_tokens s
      WHERE s.name = ANY (:names::text[]) AND (s.shared OR s.created_by = :principal)
        AND NOT EXISTS (SELECT 1 FROM used WHERE used.id = s.id)`,
);

/** The resources that hold a grant of their token; those of other owners than the viewer (NULL: the token's owner) are `foreign`. */
export const tokenHolders = statement(
  'token_holders',
  ['names', 'viewer'],
  `SELECT u.token, u.used_by, coalesce(u.owner <> coalesce(:viewer::text, t.created_by), false) AS foreign FROM (
      SELECT api_key_token_name AS token, 'provider ' || name AS used_by, NULL AS owner, id FROM providers
        WHERE api_key_token_name = ANY (:names::text[])
      UNION SELECT e.value ->> 'token_name', 'custom tool ' || t.name, NULL, t.id FROM custom_tools t, jsonb_each(t.env_config) e
        WHERE e.value ->> 'token_name' = ANY (:names::text[])
      UNION SELECT repo_token_name, 'workflow ' || coalesce(title, id::text), owner, id FROM workflows
        WHERE repo_token_name = ANY (:names::text[])
      UNION SELECT e.value, 'workflow ' || coalesce(w.title, w.id::text), w.owner, w.id
        FROM workflows w, jsonb_each_text(w.credential_overrides) e WHERE e.value = ANY (:names::text[])
      UNION SELECT n.name, 'MCP server ' || m.name, NULL, m.id FROM mcp_servers m, unnest(:names::text[]) AS n (name)
        WHERE position('{{token:' || n.name || '}}' IN replace(m.connection_config::text, ' ', '')) > 0
      UNION SELECT n.name, 'knowledge source ' || k.name, NULL, k.id FROM knowledge_sources k, unnest(:names::text[]) AS n (name)
        WHERE position('{{token:' || n.name || '}}' IN replace(k.connection_config::text, ' ', '')) > 0) u
    JOIN stored_tokens t ON t.name = u.token
    WHERE EXISTS (SELECT 1 FROM secret_grants g WHERE g.token_name = t.name AND g.granted_by = t.created_by
      AND g.resource_id = u.id AND g.superseded_at IS NULL)
    ORDER BY u.used_by`,
);
