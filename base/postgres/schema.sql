-- The tables of the store, and the functions through which gateways change them. `stampgate store migrate` runs this
-- file in the schema of the store. The owner of the tables owns the functions too: a gateway that logs in with another
-- role needs only the right to read the tables and to call the functions, and can neither change nor delete an event.

CREATE TABLE store (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL
);

-- The state of the event log. Every transaction that stores events locks and writes this row, so that positions have no
-- gaps, and become visible in their order.
CREATE TABLE log (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id bytea NOT NULL,                 -- 16 random bytes
  sealed_cursor_key bytea NOT NULL,  -- the key of the cursors, encrypted under the gateways' key file
  part integer NOT NULL,             -- the part that gets the next events
  earliest bigint NOT NULL,
  latest bigint NOT NULL,
  latest_commit_us bigint NOT NULL,  -- when the latest event was committed; since 1970
  latest_age_us bigint NOT NULL,     -- the same, by the clock of age_us
  latest_digest bytea NOT NULL,
  digest_before bytea NOT NULL,      -- the digest of the event before `earliest`
  age_us bigint NOT NULL,            -- the clock by which events age; see age_clock.h
  wall_us bigint NOT NULL
) WITH (fillfactor = 10);

-- A part is a partition of `events`. Retention drops whole parts. The row of a dropped part stays until retention has
-- deleted the ids of its events.
CREATE TABLE parts (
  part integer PRIMARY KEY,
  first_position bigint NOT NULL,
  began_age_us bigint NOT NULL,
  -- Set when the next part begins.
  last_position bigint,
  last_digest bytea,
  ended_age_us bigint,  -- of its last event
  dropped boolean NOT NULL DEFAULT false
);

-- The texts are bytea, because text cannot contain every character that JSON can. `digest` is the checksum that row.h
-- describes, and `previous` is the digest of the event before.
CREATE TABLE events (
  part integer NOT NULL,
  position bigint NOT NULL,
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
  PRIMARY KEY (position, part)
) PARTITION BY LIST (part);
ALTER TABLE events ALTER COLUMN body SET STORAGE EXTERNAL;

-- The ids of stored events. The scope of an id is an organization: see IdScopeOf in event.h.
CREATE TABLE seen (
  event_id bytea NOT NULL,
  scope bytea NOT NULL,
  position bigint NOT NULL,
  body_sha256 bytea NOT NULL,
  PRIMARY KEY (event_id, scope)
);
CREATE INDEX ON seen USING brin (position) WITH (pages_per_range = 16, autosummarize = on);

-- The idempotency keys of submits: see call_store.h.
CREATE TABLE submits (
  caller bytea NOT NULL,
  key bytea NOT NULL,
  version bigint NOT NULL,        -- 1, and one more after each change
  number bigint NOT NULL,         -- random; another one for each submit of the key
  stored_age_us bigint NOT NULL,  -- the age of `submit_clock` when the submit was stored
  request_sha256 bytea NOT NULL,
  body_sha256 bytea NOT NULL,
  timestamp_ms bigint NOT NULL,
  open_attempts bigint NOT NULL,
  -- The combined end of the other attempts.
  end_kind bigint NOT NULL,
  end_code bigint NOT NULL,
  end_domain bytea NOT NULL,
  end_reason bytea NOT NULL,
  activity_id bytea NOT NULL,
  activity_status bytea NOT NULL,
  PRIMARY KEY (caller, key)
);
CREATE INDEX ON submits (stored_age_us);

-- The clock by which idempotency keys age: see age_clock.h.
CREATE TABLE submit_clock (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  age_us bigint NOT NULL,
  wall_us bigint NOT NULL,
  distrusted_age_us bigint NOT NULL  -- the age when the server lost submits; -1 if it never has
);

-- A gateway chooses only timestamps whose remainder modulo 64 is the index of its lease, and which are below
-- `through_ms`. The next holder of the index chooses only timestamps above. So it does no harm if a gateway continues with
-- a lease that another one has taken.
CREATE TABLE leases (
  index bigint PRIMARY KEY,
  holder bytea,                -- 16 random bytes of a gateway's process; NULL if the lease is free
  through_ms bigint NOT NULL,  -- since 1970
  renewed_us bigint NOT NULL,
  commits bigint NOT NULL,     -- the number of transactions of the holder that changed `submits`
  -- The holder from which the present one has taken the lease, and its number of transactions. A holder that wakes
  -- compares this number, to detect that the server has lost some of them.
  previous_holder bytea,
  previous_commits bigint NOT NULL
);

-- Locks the state of the log, and advances its clock to `now_us`, or to the server's time if `now_us` is NULL. A jump
-- of the server's clock moves the clock of the log by one hour at most.
CREATE FUNCTION lock_log(now_us bigint) RETURNS log LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  head log;
BEGIN
  SELECT * INTO STRICT head FROM log FOR UPDATE;
  now_us := coalesce(now_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
  head.age_us := head.age_us + least(greatest(now_us - head.wall_us, 0), 3600000000);
  head.wall_us := now_us;
  RETURN head;
END $$;

-- Creates the log with these random values, unless there is a log.
CREATE FUNCTION create_log(new_id bytea, new_sealed_cursor_key bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  INSERT INTO log (id, sealed_cursor_key, part, earliest, latest, latest_commit_us, latest_age_us, latest_digest,
                   digest_before, age_us, wall_us)
    VALUES (new_id, new_sealed_cursor_key, 1, 1, 0, 0, 0, decode(repeat('00', 32), 'hex'),
            decode(repeat('00', 32), 'hex'), 0, 0)
    ON CONFLICT DO NOTHING
$$;

-- Creates the partition of the part `number`.
CREATE FUNCTION create_part(number integer) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  -- Bodies of less than 8 KiB stay in the row.
  EXECUTE format('CREATE TABLE %I PARTITION OF events FOR VALUES IN (%s) WITH (toast_tuple_target = 8160)',
                 'events_' || number, number);
END $$;

-- Fails if the server does not wait for a synchronous standby. The setting can change while a gateway is connected.
CREATE FUNCTION require_standby() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') = '' THEN
    RAISE EXCEPTION 'the server requires no synchronous standby' USING ERRCODE = 'SG001';
  END IF;
END $$;

-- Stores events in the order of the arrays. Each array has one element for each event. `contents` is the part of an
-- event's checksum that depends only on the event: see row.h. Each outcome is 0 if the event was stored, 1 if it was
-- already stored, and 2 if another body was already stored under its id.
CREATE FUNCTION append_events(
  now_us bigint, needs_standby boolean, event_ids bytea[], scopes bytea[], organization_ids bytea[],
  parent_organization_ids bytea[], types bytea[], key_ids bytea[], timestamps_ms bigint[], signatures bytea[],
  all_headers bytea[], body_sha256s bytea[], contents bytea[], bodies bytea[],
  OUT outcomes smallint[], OUT latest bigint, OUT latest_digest bytea
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Returns the bytes that the events and ids use.
CREATE FUNCTION bytes_of_log() RETURNS bigint LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
  SELECT (pg_total_relation_size('seen') +
          coalesce((SELECT sum(pg_total_relation_size(format('%I', 'events_' || part)::regclass)) FROM parts
                    WHERE NOT dropped), 0))::bigint
$$;

-- Applies retention. Ends the current part if it has events, and has grown old or large. Drops the oldest part if all
-- of its events are too old, or if the log is too large. Then deletes ids of dropped parts, a limited number at a time.
-- Returns whether it has dropped or deleted something: then call it again.
CREATE FUNCTION trim_log(
  now_us bigint, retention_age_us bigint, retention_bytes bigint, deduplication_age_us bigint
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Returns the position of the last event that was committed before `time_us`, or the position before the earliest event.
CREATE FUNCTION position_before(time_us bigint) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
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

-- Everybody may call a new function, unless this right is revoked.
-- Returns the server's time in microseconds since 1970, unless `given_us` replaces it.
CREATE FUNCTION time_us(given_us bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(given_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- Returns the age of the idempotency keys' clock, without writing it.
CREATE FUNCTION age_of_submits(now_us bigint) RETURNS bigint LANGUAGE sql VOLATILE SET search_path FROM CURRENT AS $$
  SELECT age_us + least(greatest(time_us(now_us) - wall_us, 0), 3600000000) FROM submit_clock
$$;

-- Stores rows of `submits`. Each array has one element for each row. A row with the version 1 must not exist, and any
-- other row must have the version before; otherwise nothing is stored, and the error is 40001. `holder_commits` is the
-- number of this transaction for the holder of the lease.
CREATE FUNCTION put_submits(
  needs_standby boolean, lease bigint, lease_holder bytea, holder_commits bigint, callers bytea[], keys bytea[],
  versions bigint[], numbers bigint[], ages_us bigint[], request_sha256s bytea[], body_sha256s bytea[],
  timestamps_ms bigint[], all_open_attempts bigint[], end_kinds bigint[], end_codes bigint[], end_domains bytea[],
  end_reasons bytea[], activity_ids bytea[], activity_statuses bytea[]
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Deletes a limited number of idempotency keys that are older than `retention_us`, and advances their clock. Returns
-- whether there may be more of them.
CREATE FUNCTION tidy_submits(now_us bigint, retention_us bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Records that the server may have lost submits: see CallStoreView.
CREATE FUNCTION distrust_submits(now_us bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE submit_clock SET distrusted_age_us = age_of_submits(now_us)
$$;

-- Records that the server has lost submits of the holder of `lease`, which has perhaps chosen timestamps below `used_ms`.
CREATE FUNCTION record_loss(lease bigint, used_ms bigint, now_us bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT distrust_submits(now_us);
  UPDATE leases SET through_ms = greatest(through_ms, used_ms) WHERE index = lease
$$;

-- Prepares a store that was restored to an earlier state: see `stampgate store restored`. No gateway may be connected.
-- The new timestamps begin 31 s after the clock, as after a restore of a SQLite store.
CREATE FUNCTION mark_restored(now_us bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT distrust_submits(now_us);
  UPDATE leases SET holder = NULL, through_ms = greatest(through_ms, time_us(now_us) / 1000 + 31000)
$$;

-- Gives a lease to `new_holder`: a free one or, if there is none, one that was not renewed for `lasts_us`. Returns NULLs
-- if there is none.
CREATE FUNCTION take_lease(new_holder bytea, now_us bigint, lasts_us bigint, OUT lease bigint, OUT floor_ms bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  SELECT index, through_ms INTO lease, floor_ms FROM leases
    WHERE holder IS NULL OR renewed_us < time_us(now_us) - lasts_us
    ORDER BY holder IS NOT NULL, renewed_us, index LIMIT 1 FOR UPDATE SKIP LOCKED;
  UPDATE leases SET holder = new_holder, renewed_us = time_us(now_us), commits = 0,
    previous_holder = holder, previous_commits = commits WHERE index = lease;
  -- The clock of a new store starts now.
  UPDATE submit_clock SET wall_us = time_us(now_us) WHERE wall_us = 0;
END $$;

-- Renews a lease, and raises its bound to `new_through_ms` or more. Returns whether `lease_holder` has the lease.
CREATE FUNCTION raise_lease(needs_standby boolean, lease bigint, lease_holder bytea, new_through_ms bigint, now_us bigint)
RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  UPDATE leases SET through_ms = greatest(through_ms, new_through_ms), renewed_us = time_us(now_us)
    WHERE index = lease AND holder = lease_holder;
  RETURN FOUND;
END $$;

-- Frees a lease whose holder has chosen no timestamp at or above `next_ms`.
CREATE FUNCTION release_lease(lease bigint, lease_holder bytea, next_ms bigint, now_us bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE leases SET holder = NULL, through_ms = least(through_ms, next_ms), renewed_us = time_us(now_us)
    WHERE index = lease AND holder = lease_holder
$$;

REVOKE ALL ON FUNCTION lock_log, create_log, create_part, require_standby, append_events, bytes_of_log, trim_log,
  position_before, time_us, age_of_submits, put_submits, tidy_submits, distrust_submits, record_loss, mark_restored, take_lease,
  raise_lease, release_lease FROM PUBLIC;

INSERT INTO store (version) VALUES (1);
INSERT INTO parts (part, first_position, began_age_us) VALUES (1, 1, 0);
SELECT create_part(1);
INSERT INTO submit_clock (age_us, wall_us, distrusted_age_us) VALUES (0, 0, -1);
INSERT INTO leases SELECT generate_series(0, 63), NULL, 0, 0, 0, NULL, 0;
