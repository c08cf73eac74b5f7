-- Trigger: deletes the grants of a resource together with the resource. Its argument is the kind of resource.
-- Locks: the grants, after the resource that is deleted.
CREATE OR REPLACE FUNCTION drop_secret_grants() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM secret_grants WHERE resource_kind = TG_ARGV[0] AND resource_id = OLD.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "providers" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('provider');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "custom_tools" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('custom_tool');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "mcp_servers" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('mcp_server');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "knowledge_sources" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('knowledge_source');
CREATE OR REPLACE TRIGGER drop_secret_grants AFTER DELETE ON "workflows" FOR EACH ROW EXECUTE FUNCTION drop_secret_grants('workflow');
