-- Version 3 of the store: what a gateway's role can do becomes what a gateway has to do.
--
-- New functions replace those of versions 1 and 2. The owner of the tables decides what is deleted, when,
-- and how far ahead of the server's clock timestamps may be: no function has a parameter for it. A gateway states only
-- its own acts, under a secret whose SHA-256 the tables have, because all gateways have one role. Rows that gateways
-- must be able to trust have a seal, an HMAC under a key that the server does not have: see seals.h.
--
-- While a gateway of an earlier release uses the store, it needs the earlier functions, and its rows have no seal.
-- `stampgate store seal` ends this time.

-- What the owner has decided. `stampgate store set` writes it.
CREATE TABLE bounds (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  -- Events with later positions must have a seal. NULL while gateways of an earlier release may store events.
  unsealed_through bigint,
  -- Idempotency keys that are stored at a later age must have a seal. NULL at the same time.
  keys_unsealed_through_us bigint,
  -- NULL if the owner has not decided yet: then nothing is deleted.
  retention_age_us bigint,
  retention_bytes bigint,
  deduplication_age_us bigint,
  key_retention_us bigint,
  lease_lasts_us bigint NOT NULL DEFAULT 600000000,
  -- How far ahead of the server's clock the timestamps of a lease may be.
  timestamps_ahead_ms bigint NOT NULL DEFAULT 600000,
  -- A replica that has renewed its shares within this time is not silent.
  replica_lasts_us bigint NOT NULL DEFAULT 500000
);
INSERT INTO bounds DEFAULT VALUES;

-- Returns the server's time in microseconds since 1970. Tests replace this function.
CREATE FUNCTION server_us() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
$$;

REVOKE ALL ON FUNCTION server_us FROM PUBLIC;
