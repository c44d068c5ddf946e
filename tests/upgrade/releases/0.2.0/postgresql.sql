SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA stampgate;
ALTER SCHEMA stampgate OWNER TO postgres;
CREATE FUNCTION stampgate.age_of_keys() RETURNS bigint
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT age_of_submits(server_us())
$$;
ALTER FUNCTION stampgate.age_of_keys() OWNER TO postgres;
CREATE FUNCTION stampgate.age_of_submits(now_us bigint) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT age_us + least(greatest(time_us(now_us) - wall_us, 0), 3600000000) FROM submit_clock
$$;
ALTER FUNCTION stampgate.age_of_submits(now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.append_events(now_us bigint, needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  head log;
  before bigint;
  stored_sha256 bytea;
  digest bytea;
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  head := lock_log(now_us);
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
        head.latest_digest, bodies[i]);
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
ALTER FUNCTION stampgate.append_events(now_us bigint, needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) OWNER TO postgres;
CREATE FUNCTION stampgate.begin_lease(secret bytea, OUT lease bigint, OUT floor_ms bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
BEGIN
  SELECT t.lease, t.floor_ms INTO lease, floor_ms
    FROM bounds b, take_lease(name_of(secret), server_us(), b.lease_lasts_us) t;
  UPDATE leases l SET floor_ms = begin_lease.floor_ms WHERE l.index = lease;
END $$;
ALTER FUNCTION stampgate.begin_lease(secret bytea, OUT lease bigint, OUT floor_ms bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.bytes_of_log() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT (pg_total_relation_size('seen') +
          coalesce((SELECT sum(pg_total_relation_size(format('%I', 'events_' || part)::regclass)) FROM parts
                    WHERE NOT dropped), 0))::bigint
$$;
ALTER FUNCTION stampgate.bytes_of_log() OWNER TO postgres;
CREATE FUNCTION stampgate.create_log(new_id bytea, new_sealed_cursor_key bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  INSERT INTO log (id, sealed_cursor_key, part, earliest, latest, latest_commit_us, latest_age_us, latest_digest,
                   digest_before, age_us, wall_us)
    VALUES (new_id, new_sealed_cursor_key, 1, 1, 0, 0, 0, decode(repeat('00', 32), 'hex'),
            decode(repeat('00', 32), 'hex'), 0, 0)
    ON CONFLICT DO NOTHING
$$;
ALTER FUNCTION stampgate.create_log(new_id bytea, new_sealed_cursor_key bytea) OWNER TO postgres;
CREATE FUNCTION stampgate.create_part(number integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
BEGIN
  -- Bodies of less than 8 KiB stay in the row.
  EXECUTE format('CREATE TABLE %I PARTITION OF events FOR VALUES IN (%s) WITH (toast_tuple_target = 8160)',
                 'events_' || number, number);
END $$;
ALTER FUNCTION stampgate.create_part(number integer) OWNER TO postgres;
CREATE FUNCTION stampgate.distrust_submits(now_us bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  UPDATE submit_clock SET distrusted_age_us = age_of_submits(now_us)
$$;
ALTER FUNCTION stampgate.distrust_submits(now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.end_lease(lease bigint, secret bytea, next_ms bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT release_lease(lease, name_of(secret), greatest(next_ms, l.floor_ms), server_us()) FROM leases l
    WHERE l.index = lease
$$;
ALTER FUNCTION stampgate.end_lease(lease bigint, secret bytea, next_ms bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.extend_lease(needs_standby boolean, lease bigint, secret bytea, new_through_ms bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
BEGIN
  IF new_through_ms > last_timestamp_ms() THEN
    RAISE EXCEPTION 'the timestamps are too far ahead of the clock of the server' USING ERRCODE = 'SG003';
  END IF;
  RETURN raise_lease(needs_standby, lease, name_of(secret), new_through_ms, server_us());
END $$;
ALTER FUNCTION stampgate.extend_lease(needs_standby boolean, lease bigint, secret bytea, new_through_ms bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.last_timestamp_ms() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT server_us() / 1000 + b.timestamps_ahead_ms FROM bounds b
$$;
ALTER FUNCTION stampgate.last_timestamp_ms() OWNER TO postgres;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE stampgate.log (
    one boolean DEFAULT true NOT NULL,
    id bytea NOT NULL,
    sealed_cursor_key bytea NOT NULL,
    part integer NOT NULL,
    earliest bigint NOT NULL,
    latest bigint NOT NULL,
    latest_commit_us bigint NOT NULL,
    latest_age_us bigint NOT NULL,
    latest_digest bytea NOT NULL,
    digest_before bytea NOT NULL,
    age_us bigint NOT NULL,
    wall_us bigint NOT NULL,
    CONSTRAINT log_one_check CHECK (one)
)
WITH (fillfactor='10');
ALTER TABLE stampgate.log OWNER TO postgres;
CREATE FUNCTION stampgate.lock_log(now_us bigint) RETURNS stampgate.log
    LANGUAGE plpgsql
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  head log;
BEGIN
  SELECT * INTO STRICT head FROM log FOR UPDATE;
  now_us := coalesce(now_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  head.age_us := head.age_us + least(greatest(now_us - head.wall_us, 0), 3600000000);
  head.wall_us := now_us;
  RETURN head;
END $$;
ALTER FUNCTION stampgate.lock_log(now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.mark_restored(now_us bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT distrust_submits(now_us);
  UPDATE leases SET holder = NULL, through_ms = greatest(through_ms, time_us(now_us) / 1000 + 31000)
$$;
ALTER FUNCTION stampgate.mark_restored(now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.name_of(secret bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT
    AS $$
  SELECT sha256(secret)
$$;
ALTER FUNCTION stampgate.name_of(secret bytea) OWNER TO postgres;
CREATE FUNCTION stampgate.position_before(time_us bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  low bigint;   -- committed before `time_us`, or before the earliest event
  high bigint;  -- committed later, or after the latest event
  middle bigint;
  committed_us bigint;
BEGIN
  SELECT earliest - 1, latest + 1 INTO STRICT low, high FROM log;
  WHILE high - low > 1 LOOP
    middle := (low + high) / 2;
    SELECT e.commit_us INTO committed_us FROM events e WHERE e.position = middle;
    IF committed_us < time_us THEN low := middle; ELSE high := middle; END IF;
  END LOOP;
  RETURN low;
END $$;
ALTER FUNCTION stampgate.position_before(time_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.put_submits(needs_standby boolean, lease bigint, lease_holder bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  stored bigint;
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  UPDATE leases SET commits = holder_commits WHERE index = lease AND holder = lease_holder;
  IF NOT FOUND THEN RAISE EXCEPTION 'another gateway has taken the lease' USING ERRCODE = 'SG002'; END IF;
  INSERT INTO submits AS s
    SELECT * FROM unnest(callers, keys, versions, numbers, ages_us, request_sha256s, body_sha256s, timestamps_ms,
                         all_open_attempts, end_kinds, end_codes, end_domains, end_reasons, activity_ids,
                         activity_statuses)
    ON CONFLICT (caller, key) DO UPDATE SET
      version = excluded.version, number = excluded.number, stored_age_us = excluded.stored_age_us,
      request_sha256 = excluded.request_sha256, body_sha256 = excluded.body_sha256,
      timestamp_ms = excluded.timestamp_ms, open_attempts = excluded.open_attempts, end_kind = excluded.end_kind,
      end_code = excluded.end_code, end_domain = excluded.end_domain, end_reason = excluded.end_reason,
      activity_id = excluded.activity_id, activity_status = excluded.activity_status
      WHERE s.version = excluded.version - 1;
  GET DIAGNOSTICS stored = ROW_COUNT;
  IF stored < cardinality(callers) THEN
    RAISE EXCEPTION 'another gateway has changed an idempotency key' USING ERRCODE = '40001';
  END IF;
END $$;
ALTER FUNCTION stampgate.put_submits(needs_standby boolean, lease bigint, lease_holder bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[]) OWNER TO postgres;
CREATE FUNCTION stampgate.raise_lease(needs_standby boolean, lease bigint, lease_holder bytea, new_through_ms bigint, now_us bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  UPDATE leases SET through_ms = greatest(through_ms, new_through_ms), renewed_us = time_us(now_us)
    WHERE index = lease AND holder = lease_holder;
  RETURN FOUND;
END $$;
ALTER FUNCTION stampgate.raise_lease(needs_standby boolean, lease bigint, lease_holder bytea, new_through_ms bigint, now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.record_loss(lease bigint, used_ms bigint, now_us bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT distrust_submits(now_us);
  UPDATE leases SET through_ms = greatest(through_ms, used_ms) WHERE index = lease
$$;
ALTER FUNCTION stampgate.record_loss(lease bigint, used_ms bigint, now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.release_lease(lease bigint, lease_holder bytea, next_ms bigint, now_us bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  UPDATE leases SET holder = NULL, through_ms = least(through_ms, next_ms), renewed_us = time_us(now_us)
    WHERE index = lease AND holder = lease_holder
$$;
ALTER FUNCTION stampgate.release_lease(lease bigint, lease_holder bytea, next_ms bigint, now_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.release_rates(secret bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT set_config('synchronous_commit', 'off', true);
  SELECT release_shares(name_of(secret))
$$;
ALTER FUNCTION stampgate.release_rates(secret bytea) OWNER TO postgres;
CREATE FUNCTION stampgate.release_shares(this_replica bytea) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  DELETE FROM replicas WHERE replica = this_replica
$$;
ALTER FUNCTION stampgate.release_shares(this_replica bytea) OWNER TO postgres;
CREATE FUNCTION stampgate.renew_rates(secret bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[], OUT granted bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
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
ALTER FUNCTION stampgate.renew_rates(secret bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[], OUT granted bigint[]) OWNER TO postgres;
CREATE FUNCTION stampgate.renew_shares(this_replica bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[], OUT granted bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  held bigint[];
BEGIN
  -- The commit waits for nothing, even if it writes something beside the table.
  PERFORM set_config('synchronous_commit', 'off', true);
  -- One renewal at a time. Not a lock of the table, for which VACUUM would make renewals wait.
  PERFORM pg_advisory_xact_lock(x'7374616d00000000'::bigint + 'replicas'::regclass::oid::bigint);
  DELETE FROM replicas r USING unnest(silent_replicas, silent_numbers) AS s (replica, number)
    WHERE r.replica = s.replica AND r.number = s.number;
  IF EXISTS (SELECT FROM replicas r WHERE r.replica = this_replica AND r.number >= this_number) THEN RETURN; END IF;
  SELECT coalesce(array_agg(g.granted ORDER BY g.place), '{}'),
         coalesce(array_agg(greatest(g.granted, g.used) ORDER BY g.place), '{}') INTO granted, held
    FROM (SELECT a.place, a.used, least(a.asked, greatest(1000000 - coalesce(others.held, 0), 0))::bigint AS granted
            FROM unnest(new_rates, renew_shares.used, renew_shares.asked) WITH ORDINALITY AS a (rate, used, asked, place)
            LEFT JOIN (SELECT u.rate, sum(u.share) AS held FROM replicas r, unnest(r.rates, r.shares) AS u (rate, share)
                         WHERE r.replica <> this_replica GROUP BY u.rate) AS others ON others.rate = a.rate) AS g;
  INSERT INTO replicas AS r
    VALUES (this_replica, this_number, new_rates, held, new_demand_rates, new_demand_callers, new_weights, new_wanted)
    ON CONFLICT (replica) DO UPDATE SET
      number = excluded.number, rates = excluded.rates, shares = excluded.shares, demand_rates = excluded.demand_rates,
      demand_callers = excluded.demand_callers, weights = excluded.weights, wanted = excluded.wanted;
END $$;
ALTER FUNCTION stampgate.renew_shares(this_replica bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[], OUT granted bigint[]) OWNER TO postgres;
CREATE FUNCTION stampgate.repair_store() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
BEGIN
  UPDATE leases SET through_ms = least(through_ms, last_timestamp_ms());
  PERFORM mark_restored(server_us());
END $$;
ALTER FUNCTION stampgate.repair_store() OWNER TO postgres;
CREATE FUNCTION stampgate.report_loss(lease bigint, used_ms bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT record_loss(lease, least(used_ms, last_timestamp_ms()), server_us())
$$;
ALTER FUNCTION stampgate.report_loss(lease bigint, used_ms bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.require_standby() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF current_setting('synchronous_standby_names') = '' THEN
    RAISE EXCEPTION 'the server requires no synchronous standby' USING ERRCODE = 'SG001';
  END IF;
END $$;
ALTER FUNCTION stampgate.require_standby() OWNER TO postgres;
CREATE FUNCTION stampgate.return_calls(secret bytea, this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
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
ALTER FUNCTION stampgate.return_calls(secret bytea, this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.return_quota(this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  UPDATE quotas SET taken = greatest(taken - calls, 0)
    WHERE quota = this_quota AND window_us = this_window_us AND part = this_part
$$;
ALTER FUNCTION stampgate.return_quota(this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.seal_store() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
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
ALTER FUNCTION stampgate.seal_store() OWNER TO postgres;
CREATE FUNCTION stampgate.server_us() RETURNS bigint
    LANGUAGE sql
    AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;
ALTER FUNCTION stampgate.server_us() OWNER TO postgres;
CREATE FUNCTION stampgate.store_events(needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], seals bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
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
ALTER FUNCTION stampgate.store_events(needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], seals bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) OWNER TO postgres;
CREATE FUNCTION stampgate.store_submits(needs_standby boolean, lease bigint, secret bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[], seals bytea[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
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
ALTER FUNCTION stampgate.store_submits(needs_standby boolean, lease bigint, secret bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[], seals bytea[]) OWNER TO postgres;
CREATE FUNCTION stampgate.take_calls(needs_standby boolean, secret bytea, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
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
ALTER FUNCTION stampgate.take_calls(needs_standby boolean, secret bytea, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.take_lease(new_holder bytea, now_us bigint, lasts_us bigint, OUT lease bigint, OUT floor_ms bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
BEGIN
  SELECT index, through_ms INTO lease, floor_ms FROM leases
    WHERE holder IS NULL OR renewed_us < time_us(now_us) - lasts_us
    ORDER BY holder IS NOT NULL, renewed_us, index LIMIT 1 FOR UPDATE SKIP LOCKED;
  UPDATE leases SET holder = new_holder, renewed_us = time_us(now_us), commits = 0,
    previous_holder = holder, previous_commits = commits WHERE index = lease;
  -- The clock of a new store starts now.
  UPDATE submit_clock SET wall_us = time_us(now_us) WHERE wall_us = 0;
END $$;
ALTER FUNCTION stampgate.take_lease(new_holder bytea, now_us bigint, lasts_us bigint, OUT lease bigint, OUT floor_ms bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.take_quota(needs_standby boolean, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, now_us bigint, OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  parts CONSTANT bigint := 96;
  part_us CONSTANT bigint := this_window_us / parts;
  oldest bigint;
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended(encode(this_quota, 'hex'), this_window_us));
  now_us := time_us(now_us);
  DELETE FROM quotas WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM quotas WHERE part < now_us / (window_us / parts) - parts LIMIT 200 FOR UPDATE SKIP LOCKED));
  SELECT greatest(max(part), now_us / part_us) INTO this_part FROM quotas
    WHERE quota = this_quota AND window_us = this_window_us;
  SELECT coalesce(sum(taken), 0), coalesce(min(part), this_part) INTO used, oldest FROM quotas
    WHERE quota = this_quota AND window_us = this_window_us AND part >= this_part - parts AND taken > 0;
  calls := greatest(least(wanted, (calls_per_window - used + 7) / 8), 0);
  used := used + calls;
  IF calls > 0 THEN
    INSERT INTO quotas AS q VALUES (this_quota, this_window_us, this_part, calls)
      ON CONFLICT (quota, window_us, part) DO UPDATE SET taken = q.taken + calls;
  END IF;
  left_us := (this_part + 1) * part_us - now_us;
  freed_us := (oldest + parts + 1) * part_us - now_us;
END $$;
ALTER FUNCTION stampgate.take_quota(needs_standby boolean, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, now_us bigint, OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.tidy_submits(now_us bigint, retention_us bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  clock submit_clock;
  deleted bigint;
BEGIN
  SELECT * INTO STRICT clock FROM submit_clock FOR UPDATE;
  clock.age_us := age_of_submits(now_us);
  UPDATE submit_clock SET age_us = clock.age_us, wall_us = time_us(now_us);
  DELETE FROM submits WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM submits WHERE stored_age_us < clock.age_us - retention_us LIMIT 500 FOR UPDATE SKIP LOCKED));
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted = 500;
END $$;
ALTER FUNCTION stampgate.tidy_submits(now_us bigint, retention_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.time_us(given_us bigint) RETURNS bigint
    LANGUAGE sql
    AS $$
  SELECT coalesce(given_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;
ALTER FUNCTION stampgate.time_us(given_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.trim_events() RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT coalesce(
    (SELECT trim_log(server_us(), b.retention_age_us, b.retention_bytes, b.deduplication_age_us) FROM bounds b
       WHERE b.retention_age_us IS NOT NULL), false)
$$;
ALTER FUNCTION stampgate.trim_events() OWNER TO postgres;
CREATE FUNCTION stampgate.trim_log(now_us bigint, retention_age_us bigint, retention_bytes bigint, deduplication_age_us bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
DECLARE
  -- A log has about this number of parts.
  parts_per_log CONSTANT integer := 16;
  -- Ids may use a quarter of the bytes, and each uses about so many.
  bytes_per_id CONSTANT integer := 256;
  head log := lock_log(now_us);
  current parts;
  oldest parts;
  done boolean := false;
  bytes bigint;
BEGIN
  SELECT * INTO STRICT current FROM parts WHERE part = head.part;
  bytes := bytes_of_log();
  IF head.latest >= current.first_position AND
     (head.age_us - current.began_age_us > retention_age_us / parts_per_log OR
      pg_total_relation_size(format('%I', 'events_' || head.part)::regclass) > retention_bytes / parts_per_log) THEN
    UPDATE parts SET last_position = head.latest, last_digest = head.latest_digest, ended_age_us = head.latest_age_us
      WHERE part = head.part;
    head.part := head.part + 1;
    INSERT INTO parts (part, first_position, began_age_us) VALUES (head.part, head.latest + 1, head.age_us);
    PERFORM create_part(head.part);
  ELSIF head.latest < current.first_position THEN
    UPDATE parts SET began_age_us = head.age_us WHERE part = head.part;
  END IF;
  SELECT * INTO oldest FROM parts WHERE NOT dropped AND part < head.part ORDER BY part LIMIT 1;
  IF FOUND AND (oldest.ended_age_us < head.age_us - retention_age_us OR bytes > retention_bytes) THEN
    EXECUTE format('DROP TABLE %I', 'events_' || oldest.part);
    UPDATE parts SET dropped = true WHERE part = oldest.part;
    head.earliest := oldest.last_position + 1;
    head.digest_before := oldest.last_digest;
    done := true;
  END IF;
  SELECT * INTO oldest FROM parts ORDER BY part LIMIT 1;
  IF NOT done AND oldest.dropped AND
     (oldest.ended_age_us < head.age_us - greatest(deduplication_age_us, retention_age_us) OR
      head.latest - oldest.last_position >= retention_bytes / 4 / bytes_per_id) THEN
    DELETE FROM seen WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM seen WHERE position <= oldest.last_position LIMIT 2000));
    IF NOT FOUND THEN DELETE FROM parts WHERE part = oldest.part; END IF;
    done := true;
  END IF;
  UPDATE log SET part = head.part, earliest = head.earliest, digest_before = head.digest_before,
    age_us = head.age_us, wall_us = head.wall_us;
  RETURN done;
END $$;
ALTER FUNCTION stampgate.trim_log(now_us bigint, retention_age_us bigint, retention_bytes bigint, deduplication_age_us bigint) OWNER TO postgres;
CREATE FUNCTION stampgate.trim_submits() RETURNS boolean
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'stampgate', 'pg_temp'
    AS $$
  SELECT tidy_submits(server_us(), coalesce(b.key_retention_us, 9223372036854775807)) FROM bounds b
$$;
ALTER FUNCTION stampgate.trim_submits() OWNER TO postgres;
CREATE TABLE stampgate.bounds (
    one boolean DEFAULT true NOT NULL,
    unsealed_through bigint,
    keys_unsealed_through_us bigint,
    retention_age_us bigint,
    retention_bytes bigint,
    deduplication_age_us bigint,
    key_retention_us bigint,
    lease_lasts_us bigint DEFAULT 600000000 NOT NULL,
    timestamps_ahead_ms bigint DEFAULT 600000 NOT NULL,
    replica_lasts_us bigint DEFAULT 500000 NOT NULL,
    CONSTRAINT bounds_one_check CHECK (one)
);
ALTER TABLE stampgate.bounds OWNER TO postgres;
CREATE TABLE stampgate.events (
    part integer NOT NULL,
    "position" bigint NOT NULL,
    commit_us bigint NOT NULL,
    event_id bytea NOT NULL,
    organization_id bytea NOT NULL,
    parent_organization_id bytea NOT NULL,
    type bytea NOT NULL,
    key_id bytea NOT NULL,
    timestamp_ms bigint NOT NULL,
    signature bytea NOT NULL,
    headers bytea NOT NULL,
    body_sha256 bytea NOT NULL,
    digest bytea NOT NULL,
    previous bytea NOT NULL,
    body bytea NOT NULL,
    seal bytea
)
PARTITION BY LIST (part);
ALTER TABLE ONLY stampgate.events ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE stampgate.events OWNER TO postgres;
CREATE TABLE stampgate.events_1 (
    part integer NOT NULL,
    "position" bigint NOT NULL,
    commit_us bigint NOT NULL,
    event_id bytea NOT NULL,
    organization_id bytea NOT NULL,
    parent_organization_id bytea NOT NULL,
    type bytea NOT NULL,
    key_id bytea NOT NULL,
    timestamp_ms bigint NOT NULL,
    signature bytea NOT NULL,
    headers bytea NOT NULL,
    body_sha256 bytea NOT NULL,
    digest bytea NOT NULL,
    previous bytea NOT NULL,
    body bytea NOT NULL,
    seal bytea
)
WITH (toast_tuple_target='8160');
ALTER TABLE ONLY stampgate.events_1 ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE stampgate.events_1 OWNER TO postgres;
CREATE TABLE stampgate.leases (
    index bigint NOT NULL,
    holder bytea,
    through_ms bigint NOT NULL,
    renewed_us bigint NOT NULL,
    commits bigint NOT NULL,
    previous_holder bytea,
    previous_commits bigint NOT NULL,
    floor_ms bigint DEFAULT 0 NOT NULL
);
ALTER TABLE stampgate.leases OWNER TO postgres;
CREATE TABLE stampgate.parts (
    part integer NOT NULL,
    first_position bigint NOT NULL,
    began_age_us bigint NOT NULL,
    last_position bigint,
    last_digest bytea,
    ended_age_us bigint,
    dropped boolean DEFAULT false NOT NULL
);
ALTER TABLE stampgate.parts OWNER TO postgres;
CREATE TABLE stampgate.quota_parts (
    quota bytea NOT NULL,
    window_us bigint NOT NULL,
    part bigint NOT NULL,
    holder bytea NOT NULL,
    taken bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE stampgate.quota_parts OWNER TO postgres;
CREATE TABLE stampgate.quotas (
    quota bytea NOT NULL,
    window_us bigint NOT NULL,
    part bigint NOT NULL,
    taken bigint NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE stampgate.quotas OWNER TO postgres;
CREATE UNLOGGED TABLE stampgate.replicas (
    replica bytea NOT NULL,
    number bigint NOT NULL,
    rates bytea[] NOT NULL,
    shares bigint[] NOT NULL,
    demand_rates bytea[] NOT NULL,
    demand_callers bytea[] NOT NULL,
    weights bigint[] NOT NULL,
    wanted bigint[] NOT NULL,
    renewed_us bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='10');
ALTER TABLE stampgate.replicas OWNER TO postgres;
CREATE TABLE stampgate.seen (
    event_id bytea NOT NULL,
    scope bytea NOT NULL,
    "position" bigint NOT NULL,
    body_sha256 bytea NOT NULL
);
ALTER TABLE stampgate.seen OWNER TO postgres;
CREATE TABLE stampgate.store (
    one boolean DEFAULT true NOT NULL,
    version integer NOT NULL,
    steps integer,
    CONSTRAINT store_one_check CHECK (one)
);
ALTER TABLE stampgate.store OWNER TO postgres;
CREATE TABLE stampgate.submit_clock (
    one boolean DEFAULT true NOT NULL,
    age_us bigint NOT NULL,
    wall_us bigint NOT NULL,
    distrusted_age_us bigint NOT NULL,
    CONSTRAINT submit_clock_one_check CHECK (one)
);
ALTER TABLE stampgate.submit_clock OWNER TO postgres;
CREATE TABLE stampgate.submits (
    caller bytea NOT NULL,
    key bytea NOT NULL,
    version bigint NOT NULL,
    number bigint NOT NULL,
    stored_age_us bigint NOT NULL,
    request_sha256 bytea NOT NULL,
    body_sha256 bytea NOT NULL,
    timestamp_ms bigint NOT NULL,
    open_attempts bigint NOT NULL,
    end_kind bigint NOT NULL,
    end_code bigint NOT NULL,
    end_domain bytea NOT NULL,
    end_reason bytea NOT NULL,
    activity_id bytea NOT NULL,
    activity_status bytea NOT NULL,
    seal bytea
);
ALTER TABLE stampgate.submits OWNER TO postgres;
ALTER TABLE ONLY stampgate.events ATTACH PARTITION stampgate.events_1 FOR VALUES IN (1);
INSERT INTO stampgate.bounds VALUES (true, 7, 3602067046, 360000000000, 10737418240, 720000000000, 172800000000, 600000000, 600000, 500000);
INSERT INTO stampgate.events_1 VALUES (1, 1, 1795575377278843, '\x302e312e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377270, '\x197b973ce9b514f5104082c45324a850fe14ff5bc4d0ab9fa5994c33eecc656aeec91f0c72cb9aa4ade86e3ac02a2498c81b4ea6e3606ed4747db29f18d9a40e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373237300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000e302e312e302d6163746976697479000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803139376239373363653962353134663531303430383263343533323461383530666531346666356263346430616239666135393934633333656563633635366165656339316630633732636239616134616465383665336163303261323439386338316234656136653336303665643437343764623239663138643961343065', '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39', '\x0bbb66e1bb3edddacd793065f83c9a1fe1bee5c806ae6c9a632c277e0de33ead', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x7b226964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303631222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557227d', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 2, 1795575377331725, '\x302e312e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x42414c414e43455f434f4e4649524d45445f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377330, '\x5296053eef1df8f730c5697878c0706bfd681e3889b9519a6d64c68b6a8a699685df7f7395b15259bad5514a7c4eead66845f2b2675bcd1b4fbe75c5a2a7fe06', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001942414c414e43455f434f4e4649524d45445f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373333300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e312e302d62616c616e6365000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803532393630353365656631646638663733306335363937383738633037303662666436383165333838396239353139613664363463363862366138613639393638356466376637333935623135323539626164353531346137633465656164363638343566326232363735626364316234666265373563356132613766653036', '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d', '\x105d912e02e8ef3da79a17c71ef45bb5e04a21262cbaf47162e41e2fe3ffc5fe', '\x0bbb66e1bb3edddacd793065f83c9a1fe1bee5c806ae6c9a632c277e0de33ead', '\x7b2274797065223a2262616c616e6365733a636f6e6669726d6564222c226f7267616e697a6174696f6e4964223a2232323232323232322d303030302d343030302d383030302d303030303030303030303031222c22706172656e744f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b226f7065726174696f6e223a226465706f736974222c226361697032223a226569703135353a31222c22747848617368223a2230783031222c2261646472657373223a2230783032222c226964656d706f74656e63794b6579223a226b227d7d', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 3, 1795575377352264, '\x302e312e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x53454e445f5452414e53414354494f4e5f5354415455535f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377351, '\x1480b3368aa63257bccd38ba042eb00911f5c44ae032cd985612c2c4abb7b576699489521af028023dbe94d76099551e093adff0af022a0f54fe76dde0c1b902', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001f53454e445f5452414e53414354494f4e5f5354415455535f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373335310000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000011302e312e302d7472616e73616374696f6e000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803134383062333336386161363332353762636364333862613034326562303039313166356334346165303332636439383536313263326334616262376235373636393934383935323161663032383032336462653934643736303939353531653039336164666630616630323261306635346665373664646530633162393032', '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1', '\xf4f31d36321d52918ef7a51704b6a85569a634c65aea31fbef6e8220d86f36d8', '\x105d912e02e8ef3da79a17c71ef45bb5e04a21262cbaf47162e41e2fe3ffc5fe', '\x7b2274797065223a227472616e73616374696f6e3a737461747573222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b2273656e645472616e73616374696f6e5374617475734964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303632222c2261637469766974794964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303633222c22737461747573223a22494e434c55444544222c22747848617368223a2230783033227d7d', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 4, 1795575377388720, '\x302e312e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x6e6577', '\x776562686f6f6b2d6b65792d31', 1795575377387, '\x7372f5c6e4d8aebad1edf3394b031ecde1c5b412ce000a6800d98873f34e26c52832c3d5711c1cad2f22c4cd8c0237df5863ed0ae7783d5a323b50aa6939b40e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000000f4f465f415f4c415445525f594541520000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373338370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e312e302d6c61746572000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803733373266356336653464386165626164316564663333393462303331656364653163356234313263653030306136383030643938383733663334653236633532383332633364353731316331636164326632326334636438633032333764663538363365643061653737383364356133323362353061613639333962343065', '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e', '\xc5b4d02b9ae5a8ad261e7ded36d3bfef161b1f148a7442bbe7d2633ecf021c74', '\xf4f31d36321d52918ef7a51704b6a85569a634c65aea31fbef6e8220d86f36d8', '\x7b226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c2274797065223a226e6577227d', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 5, 1795575377408682, '\x302e312e302d6c697374', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795575377407, '\x990d30259e7d39070d32f5573b8e53a60dd0d51553ea78a89922db3d88279609c65dfc6f892227a1e23f7bf7cce0bad5241fa19fd2c6c83000541da81950440b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373430370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000a302e312e302d6c697374000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803939306433303235396537643339303730643332663535373362386535336136306464306435313535336561373861383939323264623364383832373936303963363564666336663839323232376131653233663762663763636530626164353234316661313966643263366338333030303534316461383139353034343062', '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', '\x83d055fed658841a11c57ad6026a8795531b738d0b9dc1bf5d4126f430c0ec43', '\xc5b4d02b9ae5a8ad261e7ded36d3bfef161b1f148a7442bbe7d2633ecf021c74', '\x5b312c325d', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 6, 1795575377433374, '\x302e312e302d6279746573', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795575377432, '\x072aaa72a6a64c8159fbcb87ed47f735dbc63a71d19040b725522dbf32970f0109c661b50c79b997edeb21581d43c54c7e1624af606d5da8464b2b3afc9f100f', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373433320000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e312e302d6279746573000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803037326161613732613661363463383135396662636238376564343766373335646263363361373164313930343062373235353232646266333239373066303130396336363162353063373962393937656465623231353831643433633534633765313632346166363036643564613834363462326233616663396631303066', '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502', '\x8c1a3b0515f6d94fb875e73417575d85443dc9bab4c0cbfd19b881d47ad2c7b3', '\x83d055fed658841a11c57ad6026a8795531b738d0b9dc1bf5d4126f430c0ec43', '\x00ff7b', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 7, 1795575377469142, '\x302e312e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377467, '\x4855825a1abe980164e6738fcecd4d3c865df8932a7c8949460dccdc4f2361a373108738a990dc6c9eb0e9b388daa3a9ba39b5c62eec85490616dd7f5c93310b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373436370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e312e302d756e69636f6465000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803438353538323561316162653938303136346536373338666365636434643363383635646638393332613763383934393436306463636463346632333631613337333130383733386139393064633663396562306539623338386461613361396261333962356336326565633835343930363136646437663563393333313062', '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172', '\x82538fee9ad2cce0ca7c617bbee59c6234b0b9d81d956ecb1f36e89ac86b275e', '\x8c1a3b0515f6d94fb875e73417575d85443dc9bab4c0cbfd19b881d47ad2c7b3', '\x7b226964223a225c7530303030f09f9491222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557222c226d6f7265223a31652b32317d', NULL);
INSERT INTO stampgate.events_1 VALUES (1, 8, 1795579100053867, '\x636f6e74696e7565642d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100053, '\xdc124092dff834243cb31316f5a95d6c20d424725e0a16cfeff3d9d2cbfa509cc348374fc23bec390253883f1aae5ab23ef5d19103f5001a703212f9adb30f02', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303035330000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000012636f6e74696e7565642d6163746976697479000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806463313234303932646666383334323433636233313331366635613935643663323064343234373235653061313663666566663364396432636266613530396363333438333734666332336265633339303235333838336631616165356162323365663564313931303366353030316137303332313266396164623330663032', '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39', '\x473e3788346dbcc384e61fd7f98425898bc7b31e3526a55c0d551181e9558d45', '\x82538fee9ad2cce0ca7c617bbee59c6234b0b9d81d956ecb1f36e89ac86b275e', '\x7b226964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303631222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557227d', '\x2819e4559108cf29cefe589a291c0ec0b9907c6ef63124443b0266bf0d064269');
INSERT INTO stampgate.events_1 VALUES (1, 9, 1795579100061600, '\x636f6e74696e7565642d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x42414c414e43455f434f4e4649524d45445f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100061, '\x5306512de2b197c9f3d6643b06ecf8eca7c6dc9e18f769937c1fb0134c0d0595edacac74b513ed5b0210a10b4cf70294dd7e048a476f962c03d0919a4fa98403', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001942414c414e43455f434f4e4649524d45445f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303036310000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000011636f6e74696e7565642d62616c616e6365000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803533303635313264653262313937633966336436363433623036656366386563613763366463396531386637363939333763316662303133346330643035393565646163616337346235313365643562303231306131306234636637303239346464376530343861343736663936326330336430393139613466613938343033', '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d', '\xcbdeb4a18806a007caf299c54c1f813960d48b2015b0f9ba7db6a9860a22a9be', '\x473e3788346dbcc384e61fd7f98425898bc7b31e3526a55c0d551181e9558d45', '\x7b2274797065223a2262616c616e6365733a636f6e6669726d6564222c226f7267616e697a6174696f6e4964223a2232323232323232322d303030302d343030302d383030302d303030303030303030303031222c22706172656e744f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b226f7065726174696f6e223a226465706f736974222c226361697032223a226569703135353a31222c22747848617368223a2230783031222c2261646472657373223a2230783032222c226964656d706f74656e63794b6579223a226b227d7d', '\xcdfb7ae8e5bafa9506e71e7bb014420daab9c97b4db8eec99afc49de51de1ed5');
INSERT INTO stampgate.events_1 VALUES (1, 10, 1795579100065629, '\x636f6e74696e7565642d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x53454e445f5452414e53414354494f4e5f5354415455535f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100065, '\x1a23130ed98add065384ec232a6ecb8c720a80d1c432e7cf3d5db38c69fbb8e8b0806e0aed4c16ca7081010ecfde18fc386829b1e76bcb68b870cc12074c160f', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001f53454e445f5452414e53414354494f4e5f5354415455535f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303036350000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000015636f6e74696e7565642d7472616e73616374696f6e000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803161323331333065643938616464303635333834656332333261366563623863373230613830643163343332653763663364356462333863363966626238653862303830366530616564346331366361373038313031306563666465313866633338363832396231653736626362363862383730636331323037346331363066', '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1', '\x29a113b3d8bbc0609c7ba7c4e811c659460dd10ba14314f7fc200304e4986e6a', '\xcbdeb4a18806a007caf299c54c1f813960d48b2015b0f9ba7db6a9860a22a9be', '\x7b2274797065223a227472616e73616374696f6e3a737461747573222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b2273656e645472616e73616374696f6e5374617475734964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303632222c2261637469766974794964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303633222c22737461747573223a22494e434c55444544222c22747848617368223a2230783033227d7d', '\x84d5ad278e8411d62a3421dd0bcd881f88575298499e4d78288fd1031ef426ca');
INSERT INTO stampgate.events_1 VALUES (1, 11, 1795579100069058, '\x636f6e74696e7565642d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x6e6577', '\x776562686f6f6b2d6b65792d31', 1795579100068, '\xb410df0c746ee720032d82fcfc51dd2e3473a7ddb5f4d06fcd9bf767d0a46d6907c6a74988e4d4fe46601223d10c2b62f35a22665ee556f96311ce488757530c', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000000f4f465f415f4c415445525f594541520000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303036380000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000f636f6e74696e7565642d6c61746572000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806234313064663063373436656537323030333264383266636663353164643265333437336137646462356634643036666364396266373637643061343664363930376336613734393838653464346665343636303132323364313063326236326633356132323636356565353536663936333131636534383837353735333063', '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e', '\x22a1b5e0aaf236b952077af0744220deaa6148f8fbc3e345ae317027497a0a6e', '\x29a113b3d8bbc0609c7ba7c4e811c659460dd10ba14314f7fc200304e4986e6a', '\x7b226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c2274797065223a226e6577227d', '\xc6a9fd677c5f3f783d386ee814624329694469cfa5e128c7ebefc0c0fb9e123f');
INSERT INTO stampgate.events_1 VALUES (1, 12, 1795579100073411, '\x636f6e74696e7565642d6c697374', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795579100073, '\x6ee747c9318b00c6bef0856f43ff073294c6ad0aad5174f9031743351ba7a84d60c869cf2ac052cd51db33b7a3fb391aa9043fe5d9d6587993554bb79ab5b80b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303037330000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000e636f6e74696e7565642d6c697374000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803665653734376339333138623030633662656630383536663433666630373332393463366164306161643531373466393033313734333335316261376138346436306338363963663261633035326364353164623333623761336662333931616139303433666535643964363538373939333535346262373961623562383062', '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', '\x81dc24cb329baae3bf745b79f62d98657aa5919adebef192e88a27065a22f577', '\x22a1b5e0aaf236b952077af0744220deaa6148f8fbc3e345ae317027497a0a6e', '\x5b312c325d', '\x3acb9a64e7498c26282319faa0802c7c45b5087be11b576ba5b84ef92980f0e4');
INSERT INTO stampgate.events_1 VALUES (1, 13, 1795579100077395, '\x636f6e74696e7565642d6279746573', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795579100077, '\x2523b9e9e4ef29be05ad818967f54b6bc06c45812e14d5816e2973e55ea68076488e12645e2ba3f9aa9378f1d995ceb3ec8f3b00cfff3bdce05708975a04490f', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303037370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000f636f6e74696e7565642d6279746573000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803235323362396539653465663239626530356164383138393637663534623662633036633435383132653134643538313665323937336535356561363830373634383865313236343565326261336639616139333738663164393935636562336563386633623030636666663362646365303537303839373561303434393066', '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502', '\x133c1a77397b159e680759461f090568d9ae9758982e313e2147f99aa03830b8', '\x81dc24cb329baae3bf745b79f62d98657aa5919adebef192e88a27065a22f577', '\x00ff7b', '\x9808b7ef504a70f420c1e703eb0901536d43a93ffa70dea778aeac32713fab9f');
INSERT INTO stampgate.events_1 VALUES (1, 14, 1795579100080787, '\x636f6e74696e7565642d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100080, '\xb411915e5be759e8c9bffaf51c5a1c9c6c307a949f3444cb2dd1ac25a9d4e8197a667ef91c9abaece0ce856b3c149b0733061bd77adccaa9c7925ee6be87400e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303038300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000011636f6e74696e7565642d756e69636f6465000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806234313139313565356265373539653863396266666166353163356131633963366333303761393439663334343463623264643161633235613964346538313937613636376566393163396162616563653063653835366233633134396230373333303631626437376164636361613963373932356565366265383734303065', '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172', '\xaf8f56dceeb71897c7b3e3078a15caced20057d7b358d4725746e42ad18e8fd0', '\x133c1a77397b159e680759461f090568d9ae9758982e313e2147f99aa03830b8', '\x7b226964223a225c7530303030f09f9491222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557222c226d6f7265223a31652b32317d', '\x9d47a16676a8ad631b066cf6b5a0f65875a18114695451baa9339741a7f2ee47');
INSERT INTO stampgate.events_1 VALUES (1, 15, 1795579100235397, '\x302e322e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100233, '\x08bd955c53c75165dff39c567b6ded38e8521229f3fc78783ec0ffa70ec649e349c4e85da1b44782f376c17f3b7c1f733ea16c72411b8d4f52f2b02b2834f607', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303233330000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000e302e322e302d6163746976697479000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803038626439353563353363373531363564666633396335363762366465643338653835323132323966336663373837383365633066666137306563363439653334396334653835646131623434373832663337366331376633623763316637333365613136633732343131623864346635326632623032623238333466363037', '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39', '\xbdd007672ed58d42b5026c9a9bbe6d70c37ad6c2f362018b414ceb9d252a0409', '\xaf8f56dceeb71897c7b3e3078a15caced20057d7b358d4725746e42ad18e8fd0', '\x7b226964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303631222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557227d', '\xdecdf1b4190c70bc6cfc2766f204d14c812608009d26159d290b83e8ecd477a9');
INSERT INTO stampgate.events_1 VALUES (1, 16, 1795579100240909, '\x302e322e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x42414c414e43455f434f4e4649524d45445f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100240, '\x2c3e7291733eb00b5d7114a35ea2a2fd9653df22e8e88eb76d87d0562b623bc0e6c3dc5498ab2513e8cc76dc8a9248097a47b75fe8d5f38f5cd20546df7ce10b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001942414c414e43455f434f4e4649524d45445f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303234300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e322e302d62616c616e6365000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803263336537323931373333656230306235643731313461333565613261326664393635336466323265386538386562373664383764303536326236323362633065366333646335343938616232353133653863633736646338613932343830393761343762373566653864356633386635636432303534366466376365313062', '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d', '\x879f33c4b240ade6f1a4ec69670768c7b959af6fbb592610b7e8fcdcec3dff3b', '\xbdd007672ed58d42b5026c9a9bbe6d70c37ad6c2f362018b414ceb9d252a0409', '\x7b2274797065223a2262616c616e6365733a636f6e6669726d6564222c226f7267616e697a6174696f6e4964223a2232323232323232322d303030302d343030302d383030302d303030303030303030303031222c22706172656e744f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b226f7065726174696f6e223a226465706f736974222c226361697032223a226569703135353a31222c22747848617368223a2230783031222c2261646472657373223a2230783032222c226964656d706f74656e63794b6579223a226b227d7d', '\x0b101fc4b0fd3d27e774fd24bce736859bcb6e03cfd949b80d5089fbe84f33cb');
INSERT INTO stampgate.events_1 VALUES (1, 17, 1795579100244722, '\x302e322e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x53454e445f5452414e53414354494f4e5f5354415455535f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100244, '\xa277bb23d913fe1ed048b1ad2360e3a8f9882287d230fb04da1d6cd33be6f4e07265344880788e67d9c8fdde5394a11ea6b83a81a7553c3d48c8fb84abcef802', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001f53454e445f5452414e53414354494f4e5f5354415455535f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303234340000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000011302e322e302d7472616e73616374696f6e000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806132373762623233643931336665316564303438623161643233363065336138663938383232383764323330666230346461316436636433336265366634653037323635333434383830373838653637643963386664646535333934613131656136623833613831613735353363336434386338666238346162636566383032', '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1', '\xdba1eb4fb86b9eb4f928838fb53fbdc6a14a1a7d16d669428a9aa8bb648f353f', '\x879f33c4b240ade6f1a4ec69670768c7b959af6fbb592610b7e8fcdcec3dff3b', '\x7b2274797065223a227472616e73616374696f6e3a737461747573222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b2273656e645472616e73616374696f6e5374617475734964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303632222c2261637469766974794964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303633222c22737461747573223a22494e434c55444544222c22747848617368223a2230783033227d7d', '\xb79209cdbe130a147b453af34083ce2d8b1e45b5006e73a3cfac47fabd9c1208');
INSERT INTO stampgate.events_1 VALUES (1, 18, 1795579100247985, '\x302e322e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x6e6577', '\x776562686f6f6b2d6b65792d31', 1795579100247, '\xbdaa7ad7e018763dc4fa7bc32d7da01558b493a7d6a6c133c6edccbc9b4df2b9e8e3c488f4fc7a74ba75cf7010c95947444a4d230ceb7963a057ebbb51a2430f', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000000f4f465f415f4c415445525f594541520000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303234370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e322e302d6c61746572000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806264616137616437653031383736336463346661376263333264376461303135353862343933613764366136633133336336656463636263396234646632623965386533633438386634666337613734626137356366373031306339353934373434346134643233306365623739363361303537656262623531613234333066', '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e', '\xb65ee7355129fb7857be04f86f15f9aecb5e4eb154cac23368177efbaa4992f2', '\xdba1eb4fb86b9eb4f928838fb53fbdc6a14a1a7d16d669428a9aa8bb648f353f', '\x7b226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c2274797065223a226e6577227d', '\x3084ce72bce4e6da99b5f5d81d6401ddecc7365ec351b1c026f7b03ea7a93bb3');
INSERT INTO stampgate.events_1 VALUES (1, 19, 1795579100251037, '\x302e322e302d6c697374', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795579100250, '\x6a47646ee4b1c006ad4e60f88b3cbdf3fd769c8e647cf40e9b2fb0554f166bd8038a5ae69544e6c7f92cd6d577f57d15142480e2a6a801f06e63fc6ff512eb06', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303235300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000a302e322e302d6c697374000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803661343736343665653462316330303661643465363066383862336362646633666437363963386536343763663430653962326662303535346631363662643830333861356165363935343465366337663932636436643537376635376431353134323438306532613661383031663036653633666336666635313265623036', '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', '\x9ebb3669ff085f171a55d6b4ee572b4efae10614c711a653ba36ea2b28d2f45c', '\xb65ee7355129fb7857be04f86f15f9aecb5e4eb154cac23368177efbaa4992f2', '\x5b312c325d', '\x082a65646d12e876996fe2c8e204965254809d6037cd2726ca5dade4d6a1b491');
INSERT INTO stampgate.events_1 VALUES (1, 20, 1795579100254055, '\x302e322e302d6279746573', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795579100253, '\x6ae4134ee610f632274fe83bfe56e7e8a7f019a82d5adf42cdece6e9428e822d9d2ee34aa99ef4ed54cc180bb16de2fa55944cc457e677166ecc206d5d840106', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303235330000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e322e302d6279746573000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803661653431333465653631306636333232373466653833626665353665376538613766303139613832643561646634326364656365366539343238653832326439643265653334616139396566346564353463633138306262313664653266613535393434636334353765363737313636656363323036643564383430313036', '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502', '\xa55a38f8cbd7b9d081fc80e20c9918af64c303930db995645d6aa241f577c16e', '\x9ebb3669ff085f171a55d6b4ee572b4efae10614c711a653ba36ea2b28d2f45c', '\x00ff7b', '\xf813b448d4c12534b56d270f96d9e2980be73bb504374d0754a3ccc68af57d5a');
INSERT INTO stampgate.events_1 VALUES (1, 21, 1795579100257336, '\x302e322e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795579100256, '\xe333cef476f442c1d0b3df131227acf9efcfbaf5d2a631a4fad175d5becfc31bb379fb030132e0e9bc06aa42e1de081afbf9964a4daf25b5b6f2396ac7893e0e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537393130303235360000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e322e302d756e69636f6465000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806533333363656634373666343432633164306233646631333132323761636639656663666261663564326136333161346661643137356435626563666333316262333739666230333031333265306539626330366161343265316465303831616662663939363461346461663235623562366632333936616337383933653065', '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172', '\xe1402dde3b9afab74607bc4370eb710f1be0e87f6dd0ef84be6cf63fc46720a0', '\xa55a38f8cbd7b9d081fc80e20c9918af64c303930db995645d6aa241f577c16e', '\x7b226964223a225c7530303030f09f9491222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557222c226d6f7265223a31652b32317d', '\x37e2eab250d622a06b30855da5c45ba10a04351f2c9c6eadb4fc52be648f1990');
INSERT INTO stampgate.leases VALUES (6, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (7, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (8, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (9, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (10, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (11, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (12, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (13, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (14, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (15, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (16, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (17, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (18, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (19, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (20, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (21, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (22, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (23, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (24, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (25, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (26, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (27, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (28, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (29, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (30, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (31, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (32, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (33, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (34, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (35, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (36, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (37, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (38, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (39, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (40, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (41, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (42, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (43, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (44, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (45, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (46, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (47, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (48, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (49, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (50, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (51, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (52, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (53, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (54, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (55, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (56, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (57, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (58, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (59, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (60, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (61, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (62, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (63, NULL, 0, 0, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (0, '\x0a4ff049694c33c6959b890900dab58c', 1795575386302, 1795575376304304, 10, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (1, NULL, 0, 1795575377502168, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (2, NULL, 1795579038531, 1795575378701269, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (3, '\xb31aacf88b78169e6d484efdc6a30ea59aae0a7f3c7206d8aa2525d084347571', 1795579109945, 1795579099947941, 8, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (4, NULL, 0, 1795579100261977, 0, NULL, 0, 0);
INSERT INTO stampgate.leases VALUES (5, NULL, 1795582760454, 1795582760449407, 0, NULL, 0, 0);
INSERT INTO stampgate.log VALUES (true, '\xddce303db63cadda2804cf293c4c0e06', '\x769ad963f232b40923afca3c330871852efa84bbfdb486bc31ce2528fa91a8161a5e21cc36e8b6519c49f4f69395e6b6e367f11dee590d6900454dded368a7c565cdb07f7a2da012', 1, 1, 21, 1795579100257336, 7201959260, '\xe1402dde3b9afab74607bc4370eb710f1be0e87f6dd0ef84be6cf63fc46720a0', '\x0000000000000000000000000000000000000000000000000000000000000000', 10801961142, 1795582760370927);
INSERT INTO stampgate.parts VALUES (1, 1, 3600901131, NULL, NULL, NULL, false);
INSERT INTO stampgate.quota_parts VALUES ('\x757073747265616d', 86400000000, 1995087, '\x43548464e3fbfa2304090ac72e684e748c163f0579583b22c54fa6a45043a053', 50);
INSERT INTO stampgate.quota_parts VALUES ('\x757073747265616d', 86400000000, 1995087, '\x54a4d19000f951e51963619d6ee68c1e5bd6b159974e970f27d7ddb84bae2db4', 1);
INSERT INTO stampgate.quota_parts VALUES ('\x757073747265616d', 86400000000, 1995091, '\x9a52bed68e3dffa080c69d0f964d57ff201dfc77fc53d302d9d1eb470e7716ca', 9);
INSERT INTO stampgate.quotas VALUES ('\x757073747265616d', 86400000000, 1995087, 51);
INSERT INTO stampgate.quotas VALUES ('\x757073747265616d', 86400000000, 1995091, 9);
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 1, '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', 2, '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 3, '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 4, '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6c697374', '\x', 5, '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6279746573', '\x', 6, '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 7, '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 8, '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', 9, '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 10, '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 11, '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d6c697374', '\x', 12, '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d6279746573', '\x', 13, '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502');
INSERT INTO stampgate.seen VALUES ('\x636f6e74696e7565642d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 14, '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 15, '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', 16, '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 17, '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 18, '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d6c697374', '\x', 19, '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d6279746573', '\x', 20, '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502');
INSERT INTO stampgate.seen VALUES ('\x302e322e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 21, '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172');
INSERT INTO stampgate.store VALUES (true, 3, 3);
INSERT INTO stampgate.submit_clock VALUES (true, 7202421552, 1795582760414099, -1);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d636f6d706c65746564', 2, 5782869195812907523, 181097, '\x1aa099001dc256aec491326e450aed8e5925a9e1c3cbff1887bf26e5e692f41b', '\x5cdf77fc6ded8d850fb8e70ea77a64dfa9cce79b4120c3c7c1a2eeb5fac61674', 1795575376384, 0, 3, 2, '\x', '\x', '\x63376336656137362d383363312d343763642d393735652d323664316536356631356231', '\x41435449564954595f5354415455535f434f4d504c45544544', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d70656e64696e67', 2, 7400582228821882205, 259179, '\x7f2f428cbbade2f99ad919d49fcb3f024adc44f2719ce547f5550364fe9a1112', '\xa661f9da317273c4838e1adde390a5ba48c75ca587c43391064e33cbafde4836', 1795575376448, 0, 3, 2, '\x', '\x', '\x66613166343863312d383461662d346461622d623061372d336265663965613963376664', '\x41435449564954595f5354415455535f50454e44494e47', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6e656564732d636f6e73656e737573', 2, 5894477349549046741, 316523, '\x51a09d4c164c7c57fd4d187000429eec73e59d8925fc2bd762999746e988f6b8', '\x5f861d64899c4dc2178d3f5daee35efabb9d545ab4b9563241de598f0e7bf042', 1795575376512, 0, 3, 2, '\x', '\x', '\x64383438656465632d383431662d346363382d613864392d366363613633663866633032', '\x41435449564954595f5354415455535f434f4e53454e5355535f4e4545444544', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6661696c6564', 2, 8663555238147933433, 344458, '\x5f2c80b23262e70e6ef9218b31a05235e03794b79eac0910b3832f3a71994319', '\x654d22e0c309b5a7ae34dd6c898660f6135c4d991d492fd5af7c6fd914572643', 1795575376576, 0, 3, 2, '\x', '\x', '\x32613435646465632d313266632d346238372d386436632d306265393930363538643162', '\x41435449564954595f5354415455535f4641494c4544', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d72656675736564', 2, 4477891277198918415, 401596, '\xd1784dac8f1858477013a38844587b95fe9ca17eb4c60ced818904fb84a1a9cd', '\x3c6368f7c7f388e0d68253b35996ff40ec81abf6d9f96a60846c3e6f8bd4084f', 1795575376640, 0, 2, 7, '\x757073747265616d', '\x485454505f343033', '\x', '\x', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6c6f7374', 1, 6961686173186741270, 446577, '\xb7caabd0bd9cb97a4ae0cea0d94a1a378c911ed7e4184d0ce7325ce26548bf7f', '\x3db1233be8bfeb639e6b75332e26b154add7cc2a300aa04f104532340ecbd6d2', 1795575376640, 1, 0, 2, '\x', '\x', '\x', '\x', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6f70656e', 1, 8116149858429080949, 481907, '\x3ce768493408370bf059d450c9c285942352262bf2d9b58e317dd358fb89019e', '\x3e670ac4c5da26fc2cc3de057ec9385b043a58c7ccd32fe1014870005f82671a', 1795575376704, 1, 0, 2, '\x', '\x', '\x', '\x', NULL);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x636f6e74696e7565642d636f6d706c65746564', 2, 8196787499427513700, 3602226544, '\xb1b3b8c6c3b4a2bd0fe7d140cfaab62febef82b59c745b15d322612d6b30833b', '\x54ce1812b3cfa43a6dd36d579b993a86b0acbc8c0c56b8a70bc0835649a32c02', 1795579100099, 0, 3, 2, '\x', '\x', '\x66333163303838382d343762632d346135392d396231382d316535366532646235383935', '\x41435449564954595f5354415455535f434f4d504c45544544', '\xd3a446251d01f4d1bc4a82b613eeb5850887772eab3d5bd54d23500b2aad101d');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d636f6d706c65746564', 2, 376934128275405850, 3602234866, '\x6de335c5c941652e77ab1b83e3de6aa73e5f6ef0b6a4e626ce4cc5fd9087b8fc', '\x0d84f57a4e4667c6f35caa74a09802ec10a95f8742859e2b97ae771e10ff1e82', 1795579100099, 0, 3, 2, '\x', '\x', '\x38333435646361382d666638302d346635322d393935372d366630326434643339306432', '\x41435449564954595f5354415455535f434f4d504c45544544', '\xfd30dda8811682416988f287b2d1c187ff269017863f40a5b5d54aef9df3a4fc');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d70656e64696e67', 2, 9169377139800879181, 3602240156, '\x100450c50ba04d4cf531913d8367b0945a9f83c6d3ced70500399274708726d7', '\xc8ca2cc4a595e9061ffe4d03ace5d4c34a9a4ebe66408340b5a356fa442569a1', 1795579100163, 0, 3, 2, '\x', '\x', '\x65666138616466332d363531332d343865652d623336652d636131613764386236333439', '\x41435449564954595f5354415455535f50454e44494e47', '\x1ce7b52914bd08a251f93f6845a81f17c739a3004eb932ff316e8cd09dc254a0');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d6e656564732d636f6e73656e737573', 2, 3081944164485432288, 3602243289, '\xa2642b875a1ea6451cf05d60a6916d1116790eae423aa78c54a93c43a0794566', '\x607fdced7863c647e71518ede9b64fd2874163d10398b3c760660ff8d0b69158', 1795579100163, 0, 3, 2, '\x', '\x', '\x32373535616436392d653239312d343431392d396637652d663965353462363935633864', '\x41435449564954595f5354415455535f434f4e53454e5355535f4e4545444544', '\xb1f9ce2a741626c068929bf114b3e6f0b259b64f4af1d7e70574bcd7125ef1eb');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d6661696c6564', 2, 4014970740838119531, 3602248186, '\x201bd58cf58240ed0c95e5a27cd1c51bfd893418a195810ab2fc63fdb7ecb43d', '\x3809731f6a628df06c0eee889a46c1f1ed98cfb758036683ef922090541dd5ea', 1795579100163, 0, 3, 2, '\x', '\x', '\x63636231663630612d393566332d343465302d386333392d366462363337626236373165', '\x41435449564954595f5354415455535f4641494c4544', '\xed876f8b933c4f07477d7253a32675ae629d932db7388c1c6b42a12ec85b917c');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d6c6f7374', 1, 463180850826178406, 3602259714, '\x470ac527152c69ee8197d3d975e6ff7b6a400aa32a5e383fe77397ab13814d23', '\xd604e6b47be0783855f2aa927abe7cdda1f75184888f3bec17ea9c401e4185f1', 1795579100163, 1, 0, 2, '\x', '\x', '\x', '\x', '\xe2fc2080dd5e45d299fb4603513710b69ef4763057d6117401a22b7dc3921f1e');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d72656675736564', 2, 1662330614975485795, 3602255064, '\x37e027a6787a46e24e7be012a9e7489bb77f9dfc396565bfa06142a56cc96a5c', '\x775525c4d51a3074f38a4275e1778739b25ec53236d6157d62fc5a9270fae8cd', 1795579100163, 0, 2, 7, '\x757073747265616d', '\x485454505f343033', '\x', '\x', '\x76f149014db4f30edfac0f86310668747666565e1a1ffb9dfc5cdbc49ec0c7c6');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e322e302d6f70656e', 1, 8650558088890162374, 3602262510, '\xc106cf30f0c047ca930d962d1f1e08d2b3612b3a8e2241e66ab81d2d2668de2b', '\x442de35b1b2cd40744cfa8114ccd8e0173242ff904d85a26cdc3523327dae5a8', 1795579100163, 1, 0, 2, '\x', '\x', '\x', '\x', '\xc06cedfcfd9446d426dc1949bbf2666861925138ddd004cad098acebac26a03f');
ALTER TABLE ONLY stampgate.bounds
    ADD CONSTRAINT bounds_pkey PRIMARY KEY (one);
ALTER TABLE ONLY stampgate.events
    ADD CONSTRAINT events_pkey PRIMARY KEY ("position", part);
ALTER TABLE ONLY stampgate.events_1
    ADD CONSTRAINT events_1_pkey PRIMARY KEY ("position", part);
ALTER TABLE stampgate.events
    ADD CONSTRAINT events_are_sealed CHECK (((seal IS NOT NULL) OR ("position" <= 7))) NOT VALID;
ALTER TABLE stampgate.events
    ADD CONSTRAINT events_have_bounds CHECK (((octet_length(event_id) <= 4096) AND (octet_length(organization_id) <= 4096) AND (octet_length(parent_organization_id) <= 4096) AND (octet_length(type) <= 4096) AND (octet_length(key_id) <= 4096) AND (octet_length(signature) <= 64) AND (octet_length(headers) <= 16384) AND (octet_length(body_sha256) <= 32) AND (octet_length(body) <= 16777216) AND (octet_length(seal) <= 32))) NOT VALID;
ALTER TABLE ONLY stampgate.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (index);
ALTER TABLE ONLY stampgate.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (one);
ALTER TABLE ONLY stampgate.parts
    ADD CONSTRAINT parts_pkey PRIMARY KEY (part);
ALTER TABLE ONLY stampgate.quota_parts
    ADD CONSTRAINT quota_parts_pkey PRIMARY KEY (quota, window_us, part, holder);
ALTER TABLE ONLY stampgate.quotas
    ADD CONSTRAINT quotas_pkey PRIMARY KEY (quota, window_us, part);
ALTER TABLE stampgate.replicas
    ADD CONSTRAINT replicas_have_bounds CHECK (((((((pg_column_size(rates) + pg_column_size(shares)) + pg_column_size(demand_rates)) + pg_column_size(demand_callers)) + pg_column_size(weights)) + pg_column_size(wanted)) <= 1048576)) NOT VALID;
ALTER TABLE ONLY stampgate.replicas
    ADD CONSTRAINT replicas_pkey PRIMARY KEY (replica);
ALTER TABLE ONLY stampgate.seen
    ADD CONSTRAINT seen_pkey PRIMARY KEY (event_id, scope);
ALTER TABLE ONLY stampgate.store
    ADD CONSTRAINT store_pkey PRIMARY KEY (one);
ALTER TABLE ONLY stampgate.submit_clock
    ADD CONSTRAINT submit_clock_pkey PRIMARY KEY (one);
ALTER TABLE stampgate.submits
    ADD CONSTRAINT submits_are_sealed CHECK (((seal IS NOT NULL) OR (stored_age_us <= '3602067046'::bigint))) NOT VALID;
ALTER TABLE stampgate.submits
    ADD CONSTRAINT submits_have_bounds CHECK (((stored_age_us >= 0) AND (octet_length(caller) <= 256) AND (octet_length(key) <= 256) AND (octet_length(request_sha256) <= 32) AND (octet_length(body_sha256) <= 32) AND (octet_length(end_domain) <= 256) AND (octet_length(end_reason) <= 256) AND (octet_length(activity_id) <= 256) AND (octet_length(activity_status) <= 256) AND (octet_length(seal) <= 32))) NOT VALID;
ALTER TABLE ONLY stampgate.submits
    ADD CONSTRAINT submits_pkey PRIMARY KEY (caller, key);
CREATE INDEX seen_position_idx ON stampgate.seen USING brin ("position") WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX submits_stored_age_us_idx ON stampgate.submits USING btree (stored_age_us);
ALTER INDEX stampgate.events_pkey ATTACH PARTITION stampgate.events_1_pkey;
REVOKE ALL ON FUNCTION stampgate.age_of_keys() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.age_of_submits(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.append_events(now_us bigint, needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.begin_lease(secret bytea, OUT lease bigint, OUT floor_ms bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.bytes_of_log() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.create_log(new_id bytea, new_sealed_cursor_key bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.create_part(number integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.distrust_submits(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.end_lease(lease bigint, secret bytea, next_ms bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.extend_lease(needs_standby boolean, lease bigint, secret bytea, new_through_ms bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.last_timestamp_ms() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.lock_log(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.mark_restored(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.name_of(secret bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.position_before(time_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.put_submits(needs_standby boolean, lease bigint, lease_holder bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.raise_lease(needs_standby boolean, lease bigint, lease_holder bytea, new_through_ms bigint, now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.record_loss(lease bigint, used_ms bigint, now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.release_lease(lease bigint, lease_holder bytea, next_ms bigint, now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.release_rates(secret bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.release_shares(this_replica bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.renew_rates(secret bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[], OUT granted bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.renew_shares(this_replica bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[], used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[], new_wanted bigint[], OUT granted bigint[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.repair_store() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.report_loss(lease bigint, used_ms bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.require_standby() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.return_calls(secret bytea, this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.return_quota(this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.seal_store() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.server_us() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.store_events(needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], seals bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.store_submits(needs_standby boolean, lease bigint, secret bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[], seals bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.take_calls(needs_standby boolean, secret bytea, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.take_lease(new_holder bytea, now_us bigint, lasts_us bigint, OUT lease bigint, OUT floor_ms bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.take_quota(needs_standby boolean, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, now_us bigint, OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.tidy_submits(now_us bigint, retention_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.time_us(given_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.trim_events() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.trim_log(now_us bigint, retention_age_us bigint, retention_bytes bigint, deduplication_age_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.trim_submits() FROM PUBLIC;
