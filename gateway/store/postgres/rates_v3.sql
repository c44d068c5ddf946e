-- Version 3 of shares and quotas: each replica acts only for itself. See store_v3.sql.

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
ALTER TABLE replicas ADD CONSTRAINT replicas_have_bounds CHECK (
  pg_column_size(rates) + pg_column_size(shares) + pg_column_size(demand_rates) + pg_column_size(demand_callers) +
  pg_column_size(weights) + pg_column_size(wanted) <= 1048576) NOT VALID;

-- Renews the shares of the replica of `secret` as renew_shares does. The server too must not have heard from a silent
-- replica, unless its clock was set back since.
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

-- Takes calls of a quota as take_quota does, for the holder of `secret`.
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

REVOKE ALL ON FUNCTION renew_rates, release_rates, take_calls, return_calls FROM PUBLIC;
