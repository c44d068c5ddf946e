-- Version 2 of the store: how gateways share upstream's rates.

-- The replicas, which are the processes that share the rates: see gateway/shares/replica.h. The server may lose this
-- table, because each replica states everything again with each renewal. So the table is not logged: a renewal waits
-- neither for the disk nor for a standby, and a standby that becomes the primary begins with an empty table.
CREATE UNLOGGED TABLE replicas (
  replica bytea PRIMARY KEY,  -- 16 random bytes of a process
  number bigint NOT NULL,     -- of its last renewal
  -- One element for each rate that the replica has named: the largest share that it may be using, in millionths.
  rates bytea[] NOT NULL,
  shares bigint[] NOT NULL,
  -- One element for each caller with demand of a rate. `wanted` is the demand in millionths of the rate.
  demand_rates bytea[] NOT NULL,
  demand_callers bytea[] NOT NULL,
  weights bigint[] NOT NULL,
  wanted bigint[] NOT NULL
) WITH (fillfactor = 10);

-- The used part of each quota, which is a limit of calls in a long window, such as a day: see
-- gateway/shares/quota_store.h. A window has 96 parts.
CREATE TABLE quotas (
  quota bytea NOT NULL,
  window_us bigint NOT NULL,
  part bigint NOT NULL,   -- the time of the part since 1970, divided by its length
  taken bigint NOT NULL,  -- calls that the replicas have taken, and perhaps not yet begun
  PRIMARY KEY (quota, window_us, part)
) WITH (fillfactor = 50);

-- Renews the shares of `this_replica`. The arrays `rates`, `used` and `asked` have one element for each rate: the share
-- that the replica uses until it gets the answer, and the one for which it asks. First deletes replicas that have been
-- silent since the renewals in `silent_numbers`. Returns the granted shares, and NULL if the replica has already made
-- a later renewal. A replica may be using the old share or the granted one, so the larger one counts. Thus the shares
-- of a rate never exceed 1000000 in all, unless replicas use shares of which the server knows nothing.
CREATE FUNCTION renew_shares(
  this_replica bytea, this_number bigint, silent_replicas bytea[], silent_numbers bigint[], new_rates bytea[],
  used bigint[], asked bigint[], new_demand_rates bytea[], new_demand_callers bytea[], new_weights bigint[],
  new_wanted bigint[], OUT granted bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Frees the shares of a replica that uses none any more.
CREATE FUNCTION release_shares(this_replica bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  DELETE FROM replicas WHERE replica = this_replica
$$;

-- Takes `wanted` calls of the quota, or an eighth of those that are left of `calls_per_window` if this is less, but at
-- least one if any is left. So the last calls of a quota are not all at one replica. Returns the number of taken calls,
-- the part of the window to which they belong, and the time until its end; the number of calls of the window that are
-- taken now, and the time until the oldest of them leave the window. If the server's clock is set back, the latest part
-- lasts longer. Waits for a standby, so that a failover forgets no taken call.
CREATE FUNCTION take_quota(
  needs_standby boolean, this_quota bytea, this_window_us bigint, calls_per_window bigint, wanted bigint, now_us bigint,
  OUT calls bigint, OUT this_part bigint, OUT left_us bigint, OUT used bigint, OUT freed_us bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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

-- Gives back calls that a replica has taken in this part of the window, and that nobody will begin.
CREATE FUNCTION return_quota(this_quota bytea, this_window_us bigint, this_part bigint, calls bigint) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  UPDATE quotas SET taken = greatest(taken - calls, 0)
    WHERE quota = this_quota AND window_us = this_window_us AND part = this_part
$$;

REVOKE ALL ON FUNCTION renew_shares, release_shares, take_quota, return_quota FROM PUBLIC;
