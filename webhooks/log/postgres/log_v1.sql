-- Version 1 of the event log: its tables, and the functions through which gateways change them.

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

REVOKE ALL ON FUNCTION lock_log, create_log, create_part, append_events, bytes_of_log, trim_log, position_before FROM
  PUBLIC;

INSERT INTO parts (part, first_position, began_age_us) VALUES (1, 1, 0);
SELECT create_part(1);
