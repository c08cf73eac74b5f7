-- An imported agent keeps the id of its provider although that lives in another installation; a run then says so.
ALTER TABLE "agents" DROP CONSTRAINT "agents_provider_id_fkey";
