-- The smallest id of a task that is created at that time or later: ids are UUIDv7.
-- Locks: nothing.
CREATE OR REPLACE FUNCTION first_task_id(p_at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT rpad(lpad(to_hex(greatest(0, floor(extract(epoch FROM p_at) * 1000))::bigint), 12, '0'), 32, '0')::uuid
$$;
