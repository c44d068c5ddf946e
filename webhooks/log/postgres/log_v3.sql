-- Version 3 of the event log: events have seals, and the owner of the tables decides what is deleted. See store_v3.sql.

-- NULL if a gateway of an earlier release has stored the row.
ALTER TABLE events ADD COLUMN seal bytea;

-- Gateways read events, and need memory for all of their columns. No gateway stores larger ones.
ALTER TABLE events ADD CONSTRAINT events_have_bounds CHECK (
  octet_length(event_id) <= 4096 AND octet_length(organization_id) <= 4096 AND
  octet_length(parent_organization_id) <= 4096 AND octet_length(type) <= 4096 AND octet_length(key_id) <= 4096 AND
  octet_length(signature) <= 64 AND octet_length(headers) <= 16384 AND octet_length(body_sha256) <= 32 AND
  octet_length(body) <= 16777216 AND octet_length(seal) <= 32) NOT VALID;

-- Stores events as append_events does, with their seals.
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

-- Applies the retention that the owner has decided: see trim_log.
CREATE FUNCTION trim_events() RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT coalesce(
    (SELECT trim_log(server_us(), b.retention_age_us, b.retention_bytes, b.deduplication_age_us) FROM bounds b
       WHERE b.retention_age_us IS NOT NULL), false)
$$;

REVOKE ALL ON FUNCTION store_events, trim_events FROM PUBLIC;
