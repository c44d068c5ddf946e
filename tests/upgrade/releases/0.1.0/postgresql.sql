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
INSERT INTO stampgate.events_1 VALUES (1, 1, 1795575176835480, '\x302e312e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575176805, '\x63e3e005b424a2e6567425c6f7b7f560de3628fd1b91a34bdec16b3964e8abab4bb086cc83284f2ebe9e9a1d5226b40dae31ae2d1bde3351c965ee015eeef506', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137363830350000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000e302e312e302d6163746976697479000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803633653365303035623432346132653635363734323563366637623766353630646533363238666431623931613334626465633136623339363465386162616234626230383663633833323834663265626539653961316435323236623430646165333161653264316264653333353163393635656530313565656566353036', '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39', '\x9e58b3886e32bfb9d831566328e9e2aa7c12fceb1a05b3bc8457f76d6c8e7b96', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x7b226964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303631222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557227d');
INSERT INTO stampgate.events_1 VALUES (1, 2, 1795575176917389, '\x302e312e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x42414c414e43455f434f4e4649524d45445f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575176915, '\xcf3d833b7340906adf757e1a95c4a449e39640278ba272d91c752a302b0bc3987d53c09239f914e683d868619919a49876234f9a51eb96e0a94288152482ce0b', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001942414c414e43455f434f4e4649524d45445f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137363931350000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e312e302d62616c616e6365000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806366336438333362373334303930366164663735376531613935633461343439653339363430323738626132373264393163373532613330326230626333393837643533633039323339663931346536383364383638363139393139613439383736323334663961353165623936653061393432383831353234383263653062', '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d', '\xca96d29c5699345583ea42fcaad556ce3df091ca3ecf813670510267c45cfdca', '\x9e58b3886e32bfb9d831566328e9e2aa7c12fceb1a05b3bc8457f76d6c8e7b96', '\x7b2274797065223a2262616c616e6365733a636f6e6669726d6564222c226f7267616e697a6174696f6e4964223a2232323232323232322d303030302d343030302d383030302d303030303030303030303031222c22706172656e744f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b226f7065726174696f6e223a226465706f736974222c226361697032223a226569703135353a31222c22747848617368223a2230783031222c2261646472657373223a2230783032222c226964656d706f74656e63794b6579223a226b227d7d');
INSERT INTO stampgate.events_1 VALUES (1, 3, 1795575176950068, '\x302e312e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x53454e445f5452414e53414354494f4e5f5354415455535f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575176948, '\xaeeaf71ac584a161abd3286181f5a0fff343c1cbe5c28b0c9880d193816b364dcf90ba66c56b2031993126eef6c5ee51f9506c6c76b8d85f99046c195fa19b03', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001f53454e445f5452414e53414354494f4e5f5354415455535f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137363934380000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d49640000000000000011302e312e302d7472616e73616374696f6e000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806165656166373161633538346131363161626433323836313831663561306666663334336331636265356332386230633938383064313933383136623336346463663930626136366335366232303331393933313236656566366335656535316639353036633663373662386438356639393034366331393566613139623033', '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1', '\x7a7989da28f816e2133dd7dea56d73388b6edbc81153e39a7ef019195062d965', '\xca96d29c5699345583ea42fcaad556ce3df091ca3ecf813670510267c45cfdca', '\x7b2274797065223a227472616e73616374696f6e3a737461747573222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c226d7367223a7b2273656e645472616e73616374696f6e5374617475734964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303632222c2261637469766974794964223a2261616161616161612d626262622d346363632d386464642d303030303030303030303633222c22737461747573223a22494e434c55444544222c22747848617368223a2230783033227d7d');
INSERT INTO stampgate.events_1 VALUES (1, 4, 1795575176989610, '\x302e312e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x6e6577', '\x776562686f6f6b2d6b65792d31', 1795575176987, '\xeeacf84f0bf0add08ba787124b797e535c87975ba6e6c73921607e8b66632914d340cf704caa08f991335a371e889ae21441c362e890ed5097a940ef0364e30d', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000000f4f465f415f4c415445525f594541520000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137363938370000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e312e302d6c61746572000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000806565616366383466306266306164643038626137383731323462373937653533356338373937356261366536633733393231363037653862363636333239313464333430636637303463616130386639393133333561333731653838396165323134343163333632653839306564353039376139343065663033363465333064', '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e', '\x8d83bbe94efd8a74b945cf31dde345231346b10d417db76f1e87df75593d7ce5', '\x7a7989da28f816e2133dd7dea56d73388b6edbc81153e39a7ef019195062d965', '\x7b226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c2274797065223a226e6577227d');
INSERT INTO stampgate.events_1 VALUES (1, 5, 1795575177024713, '\x302e312e302d6c697374', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795575177022, '\x5434027475220d6d7439b5e0137a520700a6c676e010657ade4ddb87164d1c10357e5db336420bdb14b8a0d203bd52ad062d0b5612e8d0db13e5739a013e8c0d', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137373032320000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000a302e312e302d6c697374000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803534333430323734373532323064366437343339623565303133376135323037303061366336373665303130363537616465346464623837313634643163313033353765356462333336343230626462313462386130643230336264353261643036326430623536313265386430646231336535373339613031336538633064', '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684', '\x0d2551d6ad2faaaafa811062fceccc5c23182d5af811dc75dd54d0290b53f7d8', '\x8d83bbe94efd8a74b945cf31dde345231346b10d417db76f1e87df75593d7ce5', '\x5b312c325d');
INSERT INTO stampgate.events_1 VALUES (1, 6, 1795575177067554, '\x302e312e302d6279746573', '\x', '\x', '\x', '\x776562686f6f6b2d6b65792d31', 1795575177063, '\x103d0ab2390c2c22e48f3db42c923467fe9402c33d125a07f0e46bcede5a9d5eaf96ab1ec5440ec98a11d7bb9e1c5df66722cec11661af3c6d779ae773326d0e', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137373036330000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000b302e312e302d6279746573000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803130336430616232333930633263323265343866336462343263393233343637666539343032633333643132356130376630653436626365646535613964356561663936616231656335343430656339386131316437626239653163356466363637323263656331313636316166336336643737396165373733333236643065', '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502', '\x8cd0c0ac478d311ec5ea0b67a294185e55368432c9288430784634a3ea98c236', '\x0d2551d6ad2faaaafa811062fceccc5c23182d5af811dc75dd54d0290b53f7d8', '\x00ff7b');
INSERT INTO stampgate.events_1 VALUES (1, 7, 1795575177114110, '\x302e312e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', '\x', '\x41435449564954595f55504441544553', '\x776562686f6f6b2d6b65792d31', 1795575177112, '\x69efe5301f92c44094ba27c7c61ffc7551321bc6fce8682e9710d0661ce474016206f5b7b6b9da8c47a0ed4591c3df6a62392badbd64a04caeff3fe1e7cf110d', '\x0000000000000019582d536572766963652d4f7267616e697a6174696f6e2d4964000000000000002431313131313131312d323232322d343333332d383434342d3535353535353535353535350000000000000014582d536572766963652d4576656e742d54797065000000000000001041435449564954595f555044415445530000000000000013582d536572766963652d54696d657374616d70000000000000000d313739353537353137373131320000000000000019582d536572766963652d576562686f6f6b2d56657273696f6e0000000000000001310000000000000012582d536572766963652d4576656e742d4964000000000000000d302e312e302d756e69636f6465000000000000001a582d536572766963652d5369676e61747572652d4b65792d4964000000000000000d776562686f6f6b2d6b65792d31000000000000001d582d536572766963652d5369676e61747572652d416c676f726974686d000000000000000765643235353139000000000000001b582d536572766963652d5369676e61747572652d56657273696f6e000000000000000276310000000000000013582d536572766963652d5369676e617475726500000000000000803639656665353330316639326334343039346261323763376336316666633735353133323162633666636538363832653937313064303636316365343734303136323036663562376236623964613863343761306564343539316333646636613632333932626164626436346130346361656666336665316537636631313064', '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172', '\x8d3d21ca8f84c5cbcec8106440fbbb8cdf1ebed75497e7c9bf7119230c778468', '\x8cd0c0ac478d311ec5ea0b67a294185e55368432c9288430784634a3ea98c236', '\x7b226964223a225c7530303030f09f9491222c226f7267616e697a6174696f6e4964223a2231313131313131312d323232322d343333332d383434342d353535353535353535353535222c22737461747573223a2241435449564954595f5354415455535f434f4d504c45544544222c2274797065223a2241435449564954595f545950455f4e4557222c226d6f7265223a31652b32317d');
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
INSERT INTO stampgate.leases VALUES (0, '\x78ecbabd2e8e81cb00917849e97816f0', 1795575186073, 1795575176083088, 9, NULL, 0);
INSERT INTO stampgate.leases VALUES (1, NULL, 0, 1795575177177239, 0, NULL, 0);
INSERT INTO stampgate.leases VALUES (2, NULL, 1795578837763, 1795575177766741, 0, NULL, 0);
INSERT INTO stampgate.log VALUES (true, '\x404be08e6f80bd85f80e6f7d50c5c1e9', '\x070c8041f4e10ca979cd6845af6d9c69523a166dd4e4bc04a2e4c1efe446738b1a4dc476d31c77b205b09837b43ca17b9fda161e60c4e6baeab4b0642781f119497380125dd41fc4', 1, 1, 7, 1795575177114110, 3601077129, '\x8d3d21ca8f84c5cbcec8106440fbbb8cdf1ebed75497e7c9bf7119230c778468', '\x0000000000000000000000000000000000000000000000000000000000000000', 3601447850, 1795575177484831);
INSERT INTO stampgate.parts VALUES (1, 1, 3600679298, NULL, NULL, NULL, false);
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6163746976697479', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 1, '\xeff464addef4775db53a1f5950b955fa4882fde437dcb3199c94759871eeaf39');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d62616c616e6365', '\x32323232323232322d303030302d343030302d383030302d303030303030303030303031', 2, '\x0c1558cba0680b8e43803be9020751fcd2fe3d2160f5e5f7c6f73311c893e65d');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d7472616e73616374696f6e', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 3, '\xdbc78325c16411ee05ecb096f6ab6bd07c05608929abca966f2828d0c8d18de1');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6c61746572', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 4, '\x166d3aed4ed5f17e17c5bc3ecb64d9c68f6f758438b170cc7f742e9a7650594e');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6c697374', '\x', 5, '\x49a64717d5d4cb19952e6eac2946415cf6879adacf9908e7d872332d32c6e684');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d6279746573', '\x', 6, '\x733f916a9b2736409c58d2b14a21923ea5413e225243d4e725a76cec044af502');
INSERT INTO stampgate.seen VALUES ('\x302e312e302d756e69636f6465', '\x31313131313131312d323232322d343333332d383434342d353535353535353535353535', 7, '\xd6c5eb9faca6ce14dee4b32cdd8a37cc92963dd7068b7fcf0ec5e2be83610172');
INSERT INTO stampgate.store VALUES (true, 1);
INSERT INTO stampgate.submit_clock VALUES (true, 1718671, 1795575177709316, -1);
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d636f6d706c65746564', 2, 8811899385820595118, 148178, '\x1aa099001dc256aec491326e450aed8e5925a9e1c3cbff1887bf26e5e692f41b', '\x45b9a6abd1d5b15358f33a111c165c8f63d2b2bb50e65e74b09d8f3c7bbd88c5', 1795575176128, 0, 3, 2, '\x', '\x', '\x37333231643363302d643264372d346164322d623361652d623666336664363862363161', '\x41435449564954595f5354415455535f434f4d504c45544544');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d70656e64696e67', 2, 1521700197578493685, 210178, '\x7f2f428cbbade2f99ad919d49fcb3f024adc44f2719ce547f5550364fe9a1112', '\x55192d7182495ecbb79a4ba4e725f51631603ce4e9e4f913cd3f158232db65c1', 1795575176192, 0, 3, 2, '\x', '\x', '\x33653838626434662d613235302d343030622d386462612d353731646630653332613465', '\x41435449564954595f5354415455535f50454e44494e47');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6e656564732d636f6e73656e737573', 2, 8714106541914777588, 242367, '\x51a09d4c164c7c57fd4d187000429eec73e59d8925fc2bd762999746e988f6b8', '\x3d735607cd7971f5a2a0206523924e7e0d910a9078d45e152c0105b4d6d8b915', 1795575176256, 0, 3, 2, '\x', '\x', '\x37623761306266622d643030632d346431302d393665322d653831356531303665653638', '\x41435449564954595f5354415455535f434f4e53454e5355535f4e4545444544');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6661696c6564', 2, 5397545922502194287, 270032, '\x5f2c80b23262e70e6ef9218b31a05235e03794b79eac0910b3832f3a71994319', '\xa44d5bb3d03fcc3edc3a251b93217dc78e0fac2b41a88647fadd348f650d592f', 1795575176256, 0, 3, 2, '\x', '\x', '\x61643163633939622d636631382d343331342d383734612d336136323538336230636638', '\x41435449564954595f5354415455535f4641494c4544');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6c6f7374', 1, 2242306277961567915, 309750, '\xb7caabd0bd9cb97a4ae0cea0d94a1a378c911ed7e4184d0ce7325ce26548bf7f', '\xc62ff5aca9e56980165cd1956ccf8525b9705d993c7a5482c66e6d2edaff67ff', 1795575176320, 1, 0, 2, '\x', '\x', '\x', '\x');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d72656675736564', 2, 8231382201847937399, 293831, '\xd1784dac8f1858477013a38844587b95fe9ca17eb4c60ced818904fb84a1a9cd', '\x60484c0b24bf426cfcef6a192b17ecef2582f078e3e9ef1a8e5b4237ad01d9c2', 1795575176320, 0, 2, 7, '\x757073747265616d', '\x485454505f343033', '\x', '\x');
INSERT INTO stampgate.submits VALUES ('\x6c6f6f706261636b', '\x302e312e302d6f70656e', 1, 838809709991697229, 328108, '\x3ce768493408370bf059d450c9c285942352262bf2d9b58e317dd358fb89019e', '\x15bd98e93b8ae3973b055b395e6558f21e9964d2bbcb234b46552c8224147376', 1795575176320, 1, 0, 2, '\x', '\x', '\x', '\x');
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
