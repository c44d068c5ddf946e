-- Version 1 of the store: what all of its tables share. `stampgate store migrate` runs this file first, in the schema of
-- the store. The owner of the tables owns the functions too: a gateway that logs in with another role needs only the
-- right to read the tables and to call the functions, and can neither change nor delete an event.

CREATE TABLE store (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL
);

-- Fails if the server does not wait for a synchronous standby. The setting can change while a gateway is connected.
CREATE FUNCTION require_standby() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('synchronous_standby_names') = '' THEN
    RAISE EXCEPTION 'the server requires no synchronous standby' USING ERRCODE = 'SG001';
  END IF;
END $$;

-- Returns the server's time in microseconds since 1970, unless `given_us` replaces it.
CREATE FUNCTION time_us(given_us bigint) RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT coalesce(given_us, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
$$;

-- Everybody may call a new function, unless this right is revoked.
REVOKE ALL ON FUNCTION require_standby, time_us FROM PUBLIC;

INSERT INTO store (version) VALUES (1);
