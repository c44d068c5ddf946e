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
CREATE FUNCTION stampgate.require_standby() RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF current_setting('synchronous_standby_names') = '' THEN
    RAISE EXCEPTION 'the server requires no synchronous standby' USING ERRCODE = 'SG001';
  END IF;
END $$;
ALTER FUNCTION stampgate.require_standby() OWNER TO postgres;
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
    body bytea NOT NULL
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
    body bytea NOT NULL
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
    previous_commits bigint NOT NULL
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
    activity_status bytea NOT NULL
);
ALTER TABLE stampgate.submits OWNER TO postgres;
ALTER TABLE ONLY stampgate.events ATTACH PARTITION stampgate.events_1 FOR VALUES IN (1);
INSERT INTO stampgate.events_1 VALUES (1, 1, 1795575377278843, '\x302e312e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377270, '\x197b973ce9b514f5104082c45324a850fe14ff5bc4d0ab9fa5994c33eecc656aeec91f0c72cb9aa4ade86e3ac02a2498c81b4ea6e3606ed4747db29f18d9a40e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373237300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000e302e312e302d6163746976697479000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803139376239373363653962353134663531303430383263343533323461383530666531346666356263346430616239666135393934633333656563633635366165656339316630633732636239616134616465383665336163303261323439386338316234656136653336303665643437343764623239663138643961343065', '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39', '\x0bbb66e1bb3edddacd793065f83c9a1fe1bee5c806ae6c9a632c277e0de33ead', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x7b226964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303631222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557227d');
INSERT INTO stampgate.events_1 VALUES (1, 2, 1795575377331725, '\x302e312e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x42414c414e43455f434f4e4649524d45445f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377330, '\x5296053eef1df8f730c5697878c0706bfd681e3889b9519a6d64c68b6a8a699685df7f7395b15259bad5514a7c4eead66845f2b2675bcd1b4fbe75c5a2a7fe06', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001942414c414e43455f434f4e4649524d45445f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373333300000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e312e302d62616c616e6365000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803532393630353365656631646638663733306335363937383738633037303662666436383165333838396239353139613664363463363862366138613639393638356466376637333935623135323539626164353531346137633465656164363638343566326232363735626364316234666265373563356132613766653036', '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d', '\x105d912e02e8ef3da79a17c71ef45bb5e04a21262cbaf47162e41e2fe3ffc5fe', '\x0bbb66e1bb3edddacd793065f83c9a1fe1bee5c806ae6c9a632c277e0de33ead', '\x7b2274797065223a2262616c616e6365733a636f6e6669726d6564222c226f7267616e697a6174696f6e4964223a2232323232323232322d303030302d343030302d383030302d303030303030303030303031222c22706172656e744f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b226f7065726174696f6e223a226465706f736974222c226361697032223a226569703135353a31222c22747848617368223a2230783031222c2261646472657373223a2230783032222c226964656d706f74656e63794b6579223a226b227d7d');
INSERT INTO stampgate.events_1 VALUES (1, 3, 1795575377352264, '\x302e312e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x53454e445f5452414e53414354494f4e5f5354415455535f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377351, '\x1480b3368aa63257bccd38ba042eb00911f5c44ae032cd985612c2c4abb7b576699489521af028023dbe94d76099551e093adff0af022a0f54fe76dde0c1b902', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001f53454e445f5452414e53414354494f4e5f5354415455535f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373335310000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000011302e312e302d7472616e73616374696f6e000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803134383062333336386161363332353762636364333862613034326562303039313166356334346165303332636439383536313263326334616262376235373636393934383935323161663032383032336462653934643736303939353531653039336164666630616630323261306635346665373664646530633162393032', '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1', '\xf4f31d36321d52918ef7a51704b6a85569a634c65aea31fbef6e8220d86f36d8', '\x105d912e02e8ef3da79a17c71ef45bb5e04a21262cbaf47162e41e2fe3ffc5fe', '\x7b2274797065223a227472616e73616374696f6e3a737461747573222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b2273656e645472616e73616374696f6e5374617475734964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303632222c2261637469766974794964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303633222c22737461747573223a22494e434c55444544222c22747848617368223a2230783033227d7d');
INSERT INTO stampgate.events_1 VALUES (1, 4, 1795575377388720, '\x302e312e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x6e6577', '\x776562686f6f6b2d6b65792d31', 1795575377387, '\x7372f5c6e4d8aebad1edf3394b031ecde1c5b412ce000a6800d98873f34e26c52832c3d5711c1cad2f22c4cd8c0237df5863ed0ae7783d5a323b50aa6939b40e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000000f4f465f415f4c415445525f594541520000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373338370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e312e302d6c61746572000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803733373266356336653464386165626164316564663333393462303331656364653163356234313263653030306136383030643938383733663334653236633532383332633364353731316331636164326632326334636438633032333764663538363365643061653737383364356133323362353061613639333962343065', '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e', '\xc5b4d02b9ae5a8ad261e7ded36d3bfef161b1f148a7442bbe7d2633ecf021c74', '\xf4f31d36321d52918ef7a51704b6a85569a634c65aea31fbef6e8220d86f36d8', '\x7b226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c2274797065223a226e6577227d');
INSERT INTO stampgate.events_1 VALUES (1, 5, 1795575377408682, '\x302e312e302d6c697374', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795575377407, '\x990d30259e7d39070d32f5573b8e53a60dd0d51553ea78a89922db3d88279609c65dfc6f892227a1e23f7bf7cce0bad5241fa19fd2c6c83000541da81950440b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373430370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000a302e312e302d6c697374000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803939306433303235396537643339303730643332663535373362386535336136306464306435313535336561373861383939323264623364383832373936303963363564666336663839323232376131653233663762663763636530626164353234316661313966643263366338333030303534316461383139353034343062', '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', '\x83d055fed658841a11c57ad6026a8795531b738d0b9dc1bf5d4126f430c0ec43', '\xc5b4d02b9ae5a8ad261e7ded36d3bfef161b1f148a7442bbe7d2633ecf021c74', '\x5b312c325d');
INSERT INTO stampgate.events_1 VALUES (1, 6, 1795575377433374, '\x302e312e302d6279746573', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795575377432, '\x072aaa72a6a64c8159fbcb87ed47f735dbc63a71d19040b725522dbf32970f0109c661b50c79b997edeb21581d43c54c7e1624af606d5da8464b2b3afc9f100f', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373433320000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e312e302d6279746573000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803037326161613732613661363463383135396662636238376564343766373335646263363361373164313930343062373235353232646266333239373066303130396336363162353063373962393937656465623231353831643433633534633765313632346166363036643564613834363462326233616663396631303066', '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502', '\x8c1a3b0515f6d94fb875e73417575d85443dc9bab4c0cbfd19b881d47ad2c7b3', '\x83d055fed658841a11c57ad6026a8795531b738d0b9dc1bf5d4126f430c0ec43', '\x00ff7b');
INSERT INTO stampgate.events_1 VALUES (1, 7, 1795575377469142, '\x302e312e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575377467, '\x4855825a1abe980164e6738fcecd4d3c865df8932a7c8949460dccdc4f2361a373108738a990dc6c9eb0e9b388daa3a9ba39b5c62eec85490616dd7f5c93310b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353337373436370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e312e302d756e69636f6465000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803438353538323561316162653938303136346536373338666365636434643363383635646638393332613763383934393436306463636463346632333631613337333130383733386139393064633663396562306539623338386461613361396261333962356336326565633835343930363136646437663563393333313062', '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172', '\x82538fee9ad2cce0ca7c617bbee59c6234b0b9d81d956ecb1f36e89ac86b275e', '\x8c1a3b0515f6d94fb875e73417575d85443dc9bab4c0cbfd19b881d47ad2c7b3', '\x7b226964223a225c7530303030f09f9491222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557222c226d6f7265223a31652b32317d');
INSERT INTO stampgate.leases VALUES (3, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (4, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (5, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (6, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (7, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (8, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (9, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (10, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (11, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (12, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (13, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (14, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (15, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (16, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (17, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (18, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (19, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (20, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (21, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (22, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (23, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (24, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (25, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (26, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (27, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (28, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (29, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (30, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (31, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (32, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (33, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (34, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (35, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (36, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (37, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (38, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (39, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (40, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (41, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (42, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (43, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (44, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (45, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (46, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (47, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (48, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (49, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (50, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (51, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (52, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (53, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (54, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (55, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (56, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (57, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (58, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (59, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (60, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (61, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (62, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (63, NULL, 0, 0, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (0, '\x0a4ff049694c33c6959b890900dab58c', 1795575386302, 1795575376304304, 10, NULL, 0);
INSERT INTO stampgate.leases VALUES (1, NULL, 0, 1795575377502168, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (2, NULL, 1795579038531, 1795575378701269, 0, NULL, 0);
INSERT INTO stampgate.log VALUES (true, '\xddce303db63cadda2804cf293c4c0e06', '\x769ad963f232b40923afca3c330871852efa84bbfdb486bc31ce2528fa91a8161a5e21cc36e8b6519c49f4f69395e6b6e367f11dee590d6900454dded368a7c565cdb07f7a2da012', 1, 1, 7, 1795575377469142, 3601209514, '\x82538fee9ad2cce0ca7c617bbee59c6234b0b9d81d956ecb1f36e89ac86b275e', '\x0000000000000000000000000000000000000000000000000000000000000000', 3601637360, 1795575377896988);
INSERT INTO stampgate.parts VALUES (1, 1, 3600901131, NULL, NULL, NULL, false);
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 1, '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', 2, '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 3, '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 4, '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6c697374', '\x', 5, '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6279746573', '\x', 6, '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 7, '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172');
INSERT INTO stampgate.store VALUES (true, 1);
INSERT INTO stampgate.submit_clock VALUES (true, 2067046, 1795575378310115, -1);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d636f6d706c65746564', 2, 5782869195812907523, 181097, '\x1aa099001dc256aec491326e450aed8e5925a9e1c3cbff1887bf26e5e692f41b', '\x5cdf77fc6ded8d850fb8e70ea77a64dfa9cce79b4120c3c7c1a2eeb5fac61674', 1795575376384, 0, 3, 2, '\x', '\x', '\x63376336656137362d383363312d343763642d393735652d323664316536356631356231', '\x41435449564954595f5354415455535f434f4d504c45544544');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d70656e64696e67', 2, 7400582228821882205, 259179, '\x7f2f428cbbade2f99ad919d49fcb3f024adc44f2719ce547f5550364fe9a1112', '\xa661f9da317273c4838e1adde390a5ba48c75ca587c43391064e33cbafde4836', 1795575376448, 0, 3, 2, '\x', '\x', '\x66613166343863312d383461662d346461622d623061372d336265663965613963376664', '\x41435449564954595f5354415455535f50454e44494e47');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6e656564732d636f6e73656e737573', 2, 5894477349549046741, 316523, '\x51a09d4c164c7c57fd4d187000429eec73e59d8925fc2bd762999746e988f6b8', '\x5f861d64899c4dc2178d3f5daee35efabb9d545ab4b9563241de598f0e7bf042', 1795575376512, 0, 3, 2, '\x', '\x', '\x64383438656465632d383431662d346363382d613864392d366363613633663866633032', '\x41435449564954595f5354415455535f434f4e53454e5355535f4e4545444544');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6661696c6564', 2, 8663555238147933433, 344458, '\x5f2c80b23262e70e6ef9218b31a05235e03794b79eac0910b3832f3a71994319', '\x654d22e0c309b5a7ae34dd6c898660f6135c4d991d492fd5af7c6fd914572643', 1795575376576, 0, 3, 2, '\x', '\x', '\x32613435646465632d313266632d346238372d386436632d306265393930363538643162', '\x41435449564954595f5354415455535f4641494c4544');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d72656675736564', 2, 4477891277198918415, 401596, '\xd1784dac8f1858477013a38844587b95fe9ca17eb4c60ced818904fb84a1a9cd', '\x3c6368f7c7f388e0d68253b35996ff40ec81abf6d9f96a60846c3e6f8bd4084f', 1795575376640, 0, 2, 7, '\x757073747265616d', '\x485454505f343033', '\x', '\x');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6c6f7374', 1, 6961686173186741270, 446577, '\xb7caabd0bd9cb97a4ae0cea0d94a1a378c911ed7e4184d0ce7325ce26548bf7f', '\x3db1233be8bfeb639e6b75332e26b154add7cc2a300aa04f104532340ecbd6d2', 1795575376640, 1, 0, 2, '\x', '\x', '\x', '\x');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6f70656e', 1, 8116149858429080949, 481907, '\x3ce768493408370bf059d450c9c285942352262bf2d9b58e317dd358fb89019e', '\x3e670ac4c5da26fc2cc3de057ec9385b043a58c7ccd32fe1014870005f82671a', 1795575376704, 1, 0, 2, '\x', '\x', '\x', '\x');
ALTER TABLE ONLY stampgate.events
    ADD CONSTRAINT events_pkey PRIMARY KEY ("position", part);
ALTER TABLE ONLY stampgate.events_1
    ADD CONSTRAINT events_1_pkey PRIMARY KEY ("position", part);
ALTER TABLE ONLY stampgate.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (index);
ALTER TABLE ONLY stampgate.log
    ADD CONSTRAINT log_pkey PRIMARY KEY (one);
ALTER TABLE ONLY stampgate.parts
    ADD CONSTRAINT parts_pkey PRIMARY KEY (part);
ALTER TABLE ONLY stampgate.seen
    ADD CONSTRAINT seen_pkey PRIMARY KEY (event_id, scope);
ALTER TABLE ONLY stampgate.store
    ADD CONSTRAINT store_pkey PRIMARY KEY (one);
ALTER TABLE ONLY stampgate.submit_clock
    ADD CONSTRAINT submit_clock_pkey PRIMARY KEY (one);
ALTER TABLE ONLY stampgate.submits
    ADD CONSTRAINT submits_pkey PRIMARY KEY (caller, key);
CREATE INDEX seen_position_idx ON stampgate.seen USING brin ("position") WITH (pages_per_range='16', autosummarize='on');
CREATE INDEX submits_stored_age_us_idx ON stampgate.submits USING btree (stored_age_us);
ALTER INDEX stampgate.events_pkey ATTACH PARTITION stampgate.events_1_pkey;
REVOKE ALL ON FUNCTION stampgate.age_of_submits(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.append_events(now_us bigint, needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[], parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[], all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[], OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.bytes_of_log() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.create_log(new_id bytea, new_sealed_cursor_key bytea) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.create_part(number integer) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.distrust_submits(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.lock_log(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.mark_restored(now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.position_before(time_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.put_submits(needs_standby boolean, lease bigint, lease_holder bytea, holder_commits bigint, callers bytea[], keys bytea[], versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[], timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[], end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[]) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.raise_lease(needs_standby boolean, lease bigint, lease_holder bytea, new_through_ms bigint, now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.record_loss(lease bigint, used_ms bigint, now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.release_lease(lease bigint, lease_holder bytea, next_ms bigint, now_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.require_standby() FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.take_lease(new_holder bytea, now_us bigint, lasts_us bigint, OUT lease bigint, OUT floor_ms bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.tidy_submits(now_us bigint, retention_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.time_us(given_us bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION stampgate.trim_log(now_us bigint, retention_age_us bigint, retention_bytes bigint, deduplication_age_us bigint) FROM PUBLIC;
