-- Version 1 of the call store: its tables, and the functions through which gateways change them.

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

REVOKE ALL ON FUNCTION age_of_submits, put_submits, tidy_submits, distrust_submits, record_loss, mark_restored,
  take_lease, raise_lease, release_lease FROM PUBLIC;

INSERT INTO submit_clock (age_us, wall_us, distrusted_age_us) VALUES (0, 0, -1);
INSERT INTO leases SELECT generate_series(0, 63), NULL, 0, 0, 0, NULL, 0;
