-- Former: only servers of the release before call it, during a rolling upgrade. Drop it in the next release.
-- Returns a UUID of version 7, for open_webhook_delivery.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION uuid_of_now() RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
    PLACING substring(int8send((extract(epoch FROM clock_timestamp()) * 1000)::bigint) FROM 3) FROM 1 FOR 6), 52, 1), 53, 1), 'hex')::uuid
$$;
