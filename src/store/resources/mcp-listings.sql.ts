import { statement } from '../database/statement.ts';

/** Replaces the person's earlier listing of the server. Writes nothing if the server has been deleted. */
export const saveMcpListing = statement(
  'save_mcp_listing',
  ['server_id', 'principal', 'personal', 'connection', 'tools'],
  `INSERT INTO mcp_listings (server_id, principal, personal, connection, tools, listed_at)
    SELECT id, :principal, :personal, :connection, :tools::jsonb, now() FROM mcp_servers WHERE id = :server_id FOR KEY SHARE
    ON CONFLICT (server_id, principal) DO UPDATE
      SET personal = excluded.personal, connection = excluded.connection, tools = excluded.tools, listed_at = excluded.listed_at`,
);
