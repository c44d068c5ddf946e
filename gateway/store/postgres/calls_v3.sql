-- Version 3 of the call store: idempotency keys have seals, and the owner of the tables decides what is deleted, and
-- which timestamps a lease may have. See store_v3.sql.

-- NULL if a gateway of an earlier release has stored the row.
ALTER TABLE submits ADD COLUMN seal bytea;

-- A new holder of a lease chooses no timestamp below this one, also if its predecessor states something else.
ALTER TABLE leases ADD COLUMN floor_ms bigint NOT NULL DEFAULT 0;

-- Gateways read these rows, and need memory for all of their columns. No gateway stores larger ones.
ALTER TABLE submits ADD CONSTRAINT submits_have_bounds CHECK (
  stored_age_us >= 0 AND octet_length(caller) <= 256 AND octet_length(key) <= 256 AND octet_length(request_sha256) <= 32 AND
  octet_length(body_sha256) <= 32 AND octet_length(end_domain) <= 256 AND octet_length(end_reason) <= 256 AND
  octet_length(activity_id) <= 256 AND octet_length(activity_status) <= 256 AND octet_length(seal) <= 32) NOT VALID;

-- Returns the age of the idempotency keys' clock, without writing it.
CREATE FUNCTION age_of_keys() RETURNS bigint
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT age_of_submits(server_us())
$$;

-- Returns what the tables have of the secret of a holder.
CREATE FUNCTION name_of(secret bytea) RETURNS bytea LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT sha256(secret)
$$;

-- Stores rows of `submits` as put_submits does, with their seals, for the holder of the lease. A stored key
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

-- Deletes idempotency keys that are older than the owner wants to keep them: see tidy_submits.
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

-- Prepares a store that was restored to an earlier state, as mark_restored does. Also lowers timestamps
-- that are further ahead of the server's clock than the owner permits, because somebody who had the role of a gateway
-- has raised them.
CREATE FUNCTION repair_store() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
  UPDATE leases SET through_ms = least(through_ms, last_timestamp_ms());
  PERFORM mark_restored(server_us());
END $$;

REVOKE ALL ON FUNCTION age_of_keys, name_of, store_submits, trim_submits, last_timestamp_ms, begin_lease,
  extend_lease, end_lease, report_loss, repair_store FROM PUBLIC;
