-- Version 3 of the store: what a gateway's role can do becomes what a gateway has to do. `stampgate store migrate` runs
-- this file after rates.sql.
--
-- The functions below replace those of schema.sql and rates.sql. The owner of the tables decides what is deleted, when,
-- and how far ahead of the server's clock timestamps may be: no function has a parameter for it. A gateway states only
-- its own acts, under a secret whose SHA-256 the tables have, because all gateways have one role. Events and idempotency
-- keys have a seal, an HMAC under a key that the server does not have: see base/postgres/seals.h.
--
-- While a gateway of an earlier release uses the store, it needs the earlier functions, and its events have no seal.
-- `stampgate store seal` ends this time.

-- NULL if a gateway of an earlier release has stored the row.
ALTER TABLE events ADD COLUMN seal bytea;
ALTER TABLE submits ADD COLUMN seal bytea;

-- What the owner has decided. `stampgate store set` writes it.
CREATE TABLE bounds (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Events with later positions must have a seal. NULL while gateways of an earlier release may store events.
  unsealed_through bigint,
  -- Idempotency keys that are stored at a later age must have a seal. NULL at the same time.
  keys_unsealed_through_us bigint,
  -- NULL if the owner has not decided yet: then nothing is deleted.
  retention_age_us bigint,
  retention_bytes bigint,
  deduplication_age_us bigint,
  key_retention_us bigint,
  lease_lasts_us bigint NOT NULL DEFAULT 600000000,
  -- How far ahead of the server's clock the timestamps of a lease may be.
  timestamps_ahead_ms bigint NOT NULL DEFAULT 600000,
  -- A replica that has renewed its shares within this time is not silent.
  replica_lasts_us bigint NOT NULL DEFAULT 500000
);
INSERT INTO bounds DEFAULT VALUES;

-- A new holder of a lease chooses no timestamp below this one, also if its predecessor states something else.
ALTER TABLE leases ADD COLUMN floor_ms bigint NOT NULL DEFAULT 0;

ALTER TABLE replicas ADD COLUMN renewed_us bigint NOT NULL DEFAULT 0;

-- The part of `quotas.taken` that a holder has taken, so that it can give back nothing else.
CREATE TABLE quota_parts (
  quota bytea NOT NULL,
  window_us bigint NOT NULL,
  part bigint NOT NULL,
  holder bytea NOT NULL,
  taken bigint NOT NULL,
  PRIMARY KEY (quota, window_us, part, holder)
) WITH (fillfactor = 50);

-- Gateways read these rows, and need memory for all of their columns. No gateway stores larger ones.
ALTER TABLE events ADD CONSTRAINT events_have_bounds CHECK (
  octet_length(event_id) <= 4096 AND octet_length(organization_id) <= 4096 AND
  octet_length(parent_organization_id) <= 4096 AND octet_length(type) <= 4096 AND octet_length(key_id) <= 4096 AND
  octet_length(signature) <= 64 AND octet_length(headers) <= 16384 AND octet_length(body_sha256) <= 32 AND
  octet_length(body) <= 16777216 AND octet_length(seal) <= 32) NOT VALID;
ALTER TABLE submits ADD CONSTRAINT submits_have_bounds CHECK (
  stored_age_us >= 0 AND octet_length(caller) <= 256 AND octet_length(key) <= 256 AND octet_length(request_sha256) <= 32 AND
  octet_length(body_sha256) <= 32 AND octet_length(end_domain) <= 256 AND octet_length(end_reason) <= 256 AND
  octet_length(activity_id) <= 256 AND octet_length(activity_status) <= 256 AND octet_length(seal) <= 32) NOT VALID;
ALTER TABLE replicas ADD CONSTRAINT replicas_have_bounds CHECK (
  pg_column_size(rates) + pg_column_size(shares) + pg_column_size(demand_rates) + pg_column_size(demand_callers) +
  pg_column_size(weights) + pg_column_size(wanted) <= 1048576) NOT VALID;

-- Returns the server's time in microseconds since 1970. Tests replace this function.
CREATE FUNCTION server_us() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

-- Stores events as append_events of schema.sql does, with their seals.
CREATE FUNCTION store_events(
  needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[],
  types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[],
  body_sha256s bytea[], contents bytea[], bodies bytea[], seals bytea[],
  OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  head log;
  before bigint;
  stored_sha256 bytea;
  digest bytea;
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  head := lock_log(server_us());
  before := head.latest;
  FOR i IN 1 .. cardinality(event_ids) LOOP
    INSERT INTO seen (event_id, scope, position, body_sha256)
      VALUES (event_ids[i], scopes[i], head.latest + 1, body_sha256s[i]) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      head.latest := head.latest + 1;
      head.latest_commit_us := greatest(head.latest_commit_us, head.wall_us);
      head.latest_age_us := head.age_us;
      digest := sha256(int8send(16) || head.id || int8send(head.latest) || int8send(head.latest_commit_us) ||
                       contents[i] || int8send(32) || head.latest_digest);
      INSERT INTO events VALUES (
        head.part, head.latest, head.latest_commit_us, event_ids[i], organization_ids[i], parent_organization_ids[i],
        types[i], key_ids[i], timestamps_ms[i], signatures[i], all_headers[i], body_sha256s[i], digest,
        head.latest_digest, bodies[i], seals[i]);
      head.latest_digest := digest;
      outcomes[i] := 0;
    ELSE
      SELECT s.body_sha256 INTO STRICT stored_sha256 FROM seen s
        WHERE s.event_id = event_ids[i] AND s.scope = scopes[i];
      outcomes[i] := CASE WHEN stored_sha256 = body_sha256s[i] THEN 1 ELSE 2 END;
    END IF;
  END LOOP;
  -- Also writes the row if every event was already stored: the commit then waits until the standby has these events.
  UPDATE log SET latest = head.latest, latest_commit_us = head.latest_commit_us, latest_age_us = head.latest_age_us,
    latest_digest = head.latest_digest, age_us = head.age_us, wall_us = head.wall_us;
  latest := head.latest;
  latest_digest := head.latest_digest;
  IF head.latest > before THEN PERFORM pg_notify('stampgate.' || current_schema(), ''); END IF;
END $$;

-- Applies the retention that the owner has decided: see trim_log of schema.sql.
CREATE FUNCTION trim_events() RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT coalesce(
    (SELECT trim_log(server_us(), b.retention_age_us, b.retention_bytes, b.deduplication_age_us) FROM bounds b
       WHERE b.retention_age_us IS NOT NULL), false)
$$;

-- Returns the age of the idempotency keys' clock, without writing it.
CREATE FUNCTION age_of_keys() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT age_of_submits(server_us())
$$;

-- Returns what the tables have of the secret of a holder.
CREATE FUNCTION name_of(secret bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT sha256(secret)
$$;

-- Stores rows of `submits` as put_submits of schema.sql does, with their seals, for the holder of the lease. A stored key
-- does not become older, so that it is not deleted early.
CREATE FUNCTION store_submits(
  needs_standby boolean, lease bigint, secret bytea, holder_commits bigint, callers bytea[], keys bytea[],
  versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[],
  timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[],
  end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[], seals bytea[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  stored bigint;
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  UPDATE leases SET commits = holder_commits WHERE index = lease AND holder = name_of(secret);
  IF NOT FOUND THEN RAISE EXCEPTION 'another gateway has taken the lease' USING ERRCODE = 'SG002'; END IF;
  INSERT INTO submits AS s
    SELECT * FROM unnest(callers, keys, versions, numbers, ages_us, request_sha256s, body_sha256s, timestamps_ms,
                         all_open_attempts, end_kinds, end_codes, end_domains, end_reasons, activity_ids,
                         activity_statuses, seals)
    ON CONFLICT (caller, key) DO UPDATE SET
      version = excluded.version, number = excluded.number, stored_age_us = excluded.stored_age_us,
      request_sha256 = excluded.request_sha256, body_sha256 = excluded.body_sha256,
      timestamp_ms = excluded.timestamp_ms, open_attempts = excluded.open_attempts, end_kind = excluded.end_kind,
      end_code = excluded.end_code, end_domain = excluded.end_domain, end_reason = excluded.end_reason,
      activity_id = excluded.activity_id, activity_status = excluded.activity_status, seal = excluded.seal
      WHERE s.version = excluded.version - 1 AND s.stored_age_us <= excluded.stored_age_us;
  GET DIAGNOSTICS stored = ROW_COUNT;
  IF stored < cardinality(callers) THEN
    RAISE EXCEPTION 'another gateway has changed an idempotency key' USING ERRCODE = '40001';
  END IF;
END $$;

-- Deletes idempotency keys that are older than the owner wants to keep them: see tidy_submits of schema.sql.
CREATE FUNCTION trim_submits() RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT tidy_submits(server_us(), coalesce(b.key_retention_us, 9223372036854775807)) FROM bounds b
$$;

-- Returns the largest timestamp that a lease may have now.
CREATE FUNCTION last_timestamp_ms() RETURNS bigint LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
  SELECT server_us() / 1000 + b.timestamps_ahead_ms FROM bounds b
$$;

-- Gives a lease to the holder of `secret`: a free one or, if there is none, one that was not renewed for long. Returns
-- NULLs if there is none.
CREATE FUNCTION begin_lease(secret bytea, OUT lease bigint, OUT floor_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  SELECT t.lease, t.floor_ms INTO lease, floor_ms
    FROM bounds b, take_lease(name_of(secret), server_us(), b.lease_lasts_us) t;
  UPDATE leases l SET floor_ms = begin_lease.floor_ms WHERE l.index = lease;
END $$;

-- Renews a lease, and raises its bound to `new_through_ms` or more. Returns whether the holder of `secret` has the lease.
CREATE FUNCTION extend_lease(needs_standby boolean, lease bigint, secret bytea, new_through_ms bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF new_through_ms > last_timestamp_ms() THEN
    RAISE EXCEPTION 'the timestamps are too far ahead of the clock of the server' USING ERRCODE = 'SG003';
  END IF;
  RETURN raise_lease(needs_standby, lease, name_of(secret), new_through_ms, server_us());
END $$;

-- Frees a lease whose holder has chosen no timestamp at or above `next_ms`.
CREATE FUNCTION end_lease(lease bigint, secret bytea, next_ms bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT release_lease(lease, name_of(secret), greatest(next_ms, l.floor_ms), server_us()) FROM leases l
    WHERE l.index = lease
$$;

-- Records that the server has lost submits of a gateway, which has perhaps chosen timestamps below `used_ms`.
CREATE FUNCTION report_loss(lease bigint, used_ms bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT record_loss(lease, least(used_ms, last_timestamp_ms()), server_us())
$$;

-- Renews the shares of the replica of `secret` as renew_shares of rates.sql does. The server too must not have heard from
-- a silent replica, unless its clock was set back since.
CREATE FUNCTION renew_rates(
  secret bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[],
  asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[],
  OUT granted bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  now_us CONSTANT bigint := server_us();
  most CONSTANT integer := 128;
  silent bytea[];
  numbers bigint[];
BEGIN
  IF (SELECT count(*) FROM replicas WHERE replica <> name_of(secret)) >= most THEN
    RAISE EXCEPTION '% replicas share the rates already', most USING ERRCODE = 'SG004';
  END IF;
  SELECT coalesce(array_agg(s.replica), '{}'), coalesce(array_agg(s.number), '{}') INTO silent, numbers
    FROM bounds b, unnest(silent_replicas, silent_numbers) AS s (replica, number) JOIN replicas r USING (replica, number)
    WHERE r.renewed_us NOT BETWEEN now_us - b.replica_lasts_us AND now_us;
  granted := renew_shares(name_of(secret), this_number, silent, numbers, new_rates, used, asked, new_demand_rates,
                          new_demand_callers, new_weights, new_wanted);
  UPDATE replicas SET renewed_us = now_us WHERE replica = name_of(secret) AND number = this_number;
END $$;

-- Frees the shares of the replica of `secret`. Waits for no standby, as renew_rates.
CREATE FUNCTION release_rates(secret bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT set_config('synchronous_commit', 'off', true);
  SELECT release_shares(name_of(secret))
$$;

-- Takes calls of a quota as take_quota of rates.sql does, for the holder of `secret`.
CREATE FUNCTION take_calls(
  needs_standby boolean, secret bytea, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint,
  OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  most CONSTANT bigint := 1000000000000;
BEGIN
  -- A window has 96 parts, and lasts a year at most.
  IF this_window_us NOT BETWEEN 96 AND 31622400000000 OR calls_per_window NOT BETWEEN 0 AND most OR
     wanted NOT BETWEEN 0 AND most THEN
    RAISE EXCEPTION 'there is no such quota' USING ERRCODE = '22003';
  END IF;
  SELECT t.* INTO STRICT calls, this_part, left_us, used, freed_us
    FROM take_quota(needs_standby, this_quota, this_window_us, calls_per_window, wanted, server_us()) t;
  DELETE FROM quota_parts WHERE ctid = ANY (ARRAY(
    SELECT p.ctid FROM quota_parts p WHERE p.part < server_us() / (p.window_us / 96) - 96
      LIMIT 200 FOR UPDATE SKIP LOCKED));
  IF calls > 0 THEN
    INSERT INTO quota_parts AS p VALUES (this_quota, this_window_us, this_part, name_of(secret), calls)
      ON CONFLICT (quota, window_us, part, holder) DO UPDATE SET taken = p.taken + excluded.taken;
  END IF;
END $$;

-- Gives back calls that the holder of `secret` has taken in this part of the window, and that nobody will begin.
CREATE FUNCTION return_calls(secret bytea, this_quota bytea, this_window_us bigint, this_part bigint, calls bigint)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  mine bigint;
BEGIN
  SELECT p.taken INTO mine FROM quota_parts p
    WHERE p.quota = this_quota AND p.window_us = this_window_us AND p.part = this_part AND p.holder = name_of(secret)
    FOR UPDATE;
  mine := least(greatest(calls, 0), coalesce(mine, 0));
  UPDATE quota_parts p SET taken = p.taken - mine
    WHERE p.quota = this_quota AND p.window_us = this_window_us AND p.part = this_part AND p.holder = name_of(secret);
  PERFORM return_quota(this_quota, this_window_us, this_part, mine);
END $$;

-- Ends the time in which gateways of earlier releases may use the store: they lose the right to call the functions of
-- schema.sql and rates.sql, and every later event and key must have a seal. Only the owner can call this function.
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

-- Prepares a store that was restored to an earlier state, as mark_restored of schema.sql does. Also lowers timestamps
-- that are further ahead of the server's clock than the owner permits, because somebody who had the role of a gateway
-- has raised them.
CREATE FUNCTION repair_store() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE leases SET through_ms = least(through_ms, last_timestamp_ms());
  PERFORM mark_restored(server_us());
END $$;

REVOKE ALL ON FUNCTION server_us, store_events, trim_events, age_of_keys, name_of, store_submits, trim_submits,
  last_timestamp_ms, begin_lease, extend_lease, end_lease, report_loss, renew_rates, release_rates, take_calls,
  return_calls, seal_store, repair_store FROM PUBLIC;

-- No gateway of an earlier release has used a store that has no event log.
SELECT seal_store() WHERE NOT EXISTS (SELECT FROM log);
