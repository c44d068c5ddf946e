-- Version 3 of the store: the end of the time without seals. This file runs last, because it concerns the event log and
-- the call store. See store_v3.sql.

-- Ends the time in which gateways of earlier releases may use the store: they lose the right to call the functions of
-- versions 1 and 2, and every later event and key must have a seal. Only the owner can call this function.
CREATE FUNCTION seal_store() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  granted record;
  sealed_after bigint;
  keys_sealed_after bigint;
BEGIN
  IF (SELECT unsealed_through FROM bounds) IS NOT NULL THEN RETURN; END IF;
  FOR granted IN
    SELECT p.oid::regprocedure AS function, a.grantee::regrole AS role FROM pg_proc p, aclexplode(p.proacl) a
      WHERE p.pronamespace = current_schema()::regnamespace AND a.grantee NOT IN (0, p.proowner) AND p.proname IN (
        'append_events', 'trim_log', 'time_us', 'age_of_submits', 'put_submits', 'tidy_submits', 'record_loss', 'take_lease',
        'raise_lease', 'release_lease', 'renew_shares', 'release_shares', 'take_quota', 'return_quota')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', granted.function, granted.role);
  END LOOP;
  -- A transaction that has called append_events before waits for this row, and fails when it continues.
  SELECT latest INTO sealed_after FROM log FOR UPDATE;
  sealed_after := coalesce(sealed_after, 0);
  EXECUTE format('ALTER TABLE events ADD CONSTRAINT events_are_sealed CHECK (seal IS NOT NULL OR position <= %s) NOT VALID',
                 sealed_after);
  keys_sealed_after := CASE WHEN EXISTS (SELECT FROM submits) THEN age_of_keys() ELSE -1 END;
  EXECUTE format('ALTER TABLE submits ADD CONSTRAINT submits_are_sealed CHECK (seal IS NOT NULL OR stored_age_us <= %s)'
                 ' NOT VALID', keys_sealed_after);
  UPDATE bounds SET unsealed_through = sealed_after, keys_unsealed_through_us = keys_sealed_after;
  UPDATE store SET version = greatest(version, 3) WHERE version > 0;
END $$;

REVOKE ALL ON FUNCTION seal_store FROM PUBLIC;

-- No gateway of an earlier release has used a store that has no event log.
SELECT seal_store() WHERE NOT EXISTS (SELECT FROM log);
