-- Version 4 of the event log: shared subscriptions, which several gateways serve. See subscription_store.h.
--
-- Each partition of a subscription belongs to a hold: that of a gateway, or nobody's. A change of a gateway names its
-- hold, and is refused if the hold has ended, or if it does not have the partition. So time decides when others may
-- take a partition from a gateway, but never who may change it: a gateway that wakes after any pause changes nothing.

-- How long a hold lasts after its latest renewal.
ALTER TABLE bounds ADD COLUMN hold_lasts_us bigint NOT NULL DEFAULT 5000000;

-- The numbers of holds, incarnations and requests. A subscription that was deleted and is declared again uses none
-- twice.
CREATE SEQUENCE subscription_numbers;

-- Partitions count from 1 here, as the elements of arrays.
CREATE TABLE subscriptions (
  subscription bytea PRIMARY KEY,
  incarnation bigint NOT NULL,
  event_order bigint NOT NULL,
  version bigint NOT NULL,  -- of the settings
  settings bytea NOT NULL,
  sought_from bigint NOT NULL DEFAULT 0,  -- events up to here can have been sent before a seek
  CONSTRAINT subscriptions_have_bounds CHECK (octet_length(subscription) <= 256 AND octet_length(settings) <= 65536)
);

-- The hold whose holder is empty is nobody's, and never ends. `through` and `reserved` say how far the partitions of
-- the hold have come; see PartitionProgress.
CREATE TABLE subscription_holds (
  subscription bytea NOT NULL REFERENCES subscriptions ON DELETE CASCADE,
  holder bytea NOT NULL,  -- the SHA-256 of its secret
  number bigint NOT NULL,
  partitions bigint[] NOT NULL,
  through bigint[] NOT NULL,
  reserved bigint[] NOT NULL,
  sent_until_us bigint[] NOT NULL,  -- until when consumers can hold events that were sent before the hold had them
  since_us bigint NOT NULL,         -- since when it was renewed in time
  renewed_us bigint NOT NULL,
  consumers bigint NOT NULL,
  report bigint[] NOT NULL,  -- through, held events, parked events, lagging keys, oldest_us or 0; see HoldReport
  -- The greatest numbers of changes and renewals that were applied. What the server carries out late, when its gateway
  -- has given up and tried again, is refused.
  latest_change bigint NOT NULL DEFAULT 0,
  latest_renewal bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (subscription, holder),
  CONSTRAINT holds_have_bounds CHECK (
    cardinality(partitions) <= 16 AND cardinality(through) = 16 AND cardinality(reserved) = 16 AND
    cardinality(sent_until_us) = 16 AND cardinality(report) = 5 AND
    array_position(through || reserved || sent_until_us || report, NULL) IS NULL AND
    consumers BETWEEN 0 AND 1000000000 AND 0 <= ALL (report) AND 1000000000 >= ALL (report[2:4]))
) WITH (fillfactor = 50);

CREATE TABLE subscription_events (
  subscription bytea NOT NULL REFERENCES subscriptions ON DELETE CASCADE,
  position bigint NOT NULL,
  partition bigint NOT NULL,
  mark bigint NOT NULL,
  deliveries bigint NOT NULL,
  uncounted bigint NOT NULL,
  time_us bigint NOT NULL,
  reason bytea NOT NULL,
  PRIMARY KEY (subscription, partition, position),
  CONSTRAINT subscription_events_have_bounds CHECK (partition BETWEEN 1 AND 16 AND octet_length(reason) <= 4096)
);

CREATE TABLE subscription_keys (
  subscription bytea NOT NULL REFERENCES subscriptions ON DELETE CASCADE,
  key bytea NOT NULL,
  partition bigint NOT NULL,
  position bigint NOT NULL,
  CONSTRAINT subscription_keys_have_bounds CHECK (partition BETWEEN 1 AND 16 AND octet_length(key) <= 8192)
);
-- A long key does not fit into an index. Logical replication must then send whole rows.
CREATE UNIQUE INDEX ON subscription_keys (subscription, partition, sha256(key));
ALTER TABLE subscription_keys REPLICA IDENTITY FULL;

-- What a gateway asks the holder of a partition, because a consumer has asked it: to settle deliveries, or to change
-- parked events. The holder answers with the change that carries it out.
CREATE TABLE subscription_requests (
  id bigint PRIMARY KEY DEFAULT nextval('subscription_numbers'),
  subscription bytea NOT NULL REFERENCES subscriptions ON DELETE CASCADE,
  partition bigint NOT NULL,
  asker bytea NOT NULL,  -- the SHA-256 of its secret
  asked_us bigint NOT NULL,
  request bytea NOT NULL,
  answer bytea,
  CONSTRAINT subscription_requests_have_bounds CHECK (
    partition BETWEEN 1 AND 16 AND octet_length(request) <= 1048576 AND octet_length(answer) <= 1048576)
);
CREATE INDEX ON subscription_requests (subscription, partition) WHERE answer IS NULL;
CREATE INDEX ON subscription_requests (asker);

-- Wakes the gateways. `changed` is 'hold' if a hold or a subscription has changed, and 'request' if there is a new
-- request or answer. Each gateway looks once a second, too.
CREATE FUNCTION wake_gateways(changed text) RETURNS void LANGUAGE sql SET search_path FROM CURRENT AS $$
  SELECT pg_notify('stampgate-subs.' || current_schema(), changed)
$$;

-- Creates a subscription at this position, unless it exists. Otherwise replaces its settings, if `new_version` is
-- greater than theirs. Returns the settings that apply.
CREATE FUNCTION declare_subscription(
  needs_standby boolean, this bytea, new_order bigint, start bigint, new_version bigint, new_settings bytea,
  OUT is_new boolean, OUT applied_version bigint, OUT applied_settings bytea, OUT applied_order bigint
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  IF new_version > 1000000000 THEN
    RAISE EXCEPTION 'no config can have such a version' USING ERRCODE = 'SG009';
  END IF;
  start := least(greatest(start, 0), (SELECT latest FROM log));
  IF (SELECT count(*) FROM subscriptions s WHERE s.subscription <> this) >= 1000 THEN
    RAISE EXCEPTION 'the store has too many subscriptions' USING ERRCODE = 'SG008';
  END IF;
  INSERT INTO subscriptions (subscription, incarnation, event_order, version, settings)
    SELECT this, nextval('subscription_numbers'), new_order, new_version, new_settings
      WHERE NOT EXISTS (SELECT FROM subscriptions s WHERE s.subscription = this)
    ON CONFLICT DO NOTHING;
  is_new := FOUND;
  IF is_new THEN
    INSERT INTO subscription_holds VALUES (
      this, '', 0, ARRAY(SELECT generate_series(1::bigint, 16)), array_fill(start, ARRAY[16]),
      array_fill(start, ARRAY[16]), array_fill(0::bigint, ARRAY[16]), 0, 0, 0, array_fill(0::bigint, ARRAY[5]));
  ELSE
    UPDATE subscriptions s SET version = new_version, settings = new_settings
      WHERE s.subscription = this AND s.version < new_version;
    IF FOUND THEN PERFORM wake_gateways('hold'); END IF;
  END IF;
  SELECT s.version, s.settings, s.event_order INTO STRICT applied_version, applied_settings, applied_order
    FROM subscriptions s WHERE s.subscription = this;
END $$;

-- Moves a partition from one hold to another. Consumers can hold its events until `sent_until`. Both holds are locked.
CREATE FUNCTION move_partition(
  this bytea, from_holder bytea, to_holder bytea, moved integer, sent_until bigint
) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  source subscription_holds;
BEGIN
  UPDATE subscription_holds h SET partitions = array_remove(h.partitions, moved::bigint)
    WHERE h.subscription = this AND h.holder = from_holder RETURNING * INTO STRICT source;
  UPDATE subscription_holds h SET partitions = h.partitions || moved::bigint,
      through[moved] = source.through[moved], reserved[moved] = source.reserved[moved],
      sent_until_us[moved] = sent_until
    WHERE h.subscription = this AND h.holder = to_holder;
END $$;

-- Renews the hold of the gateway of `secret`, or begins one. The number of a renewal must be greater than those of all
-- renewals of the hold before. Gives back `given` partitions, of which consumers can hold events for `sent_for_us`
-- more. Then takes partitions that nobody holds, if `takes`, up to the gateway's part. Before, ends the other holds
-- that were not renewed in time. This hold must have been renewed in time for as long: otherwise the server may have
-- been gone.
--
-- Returns the hold; how many partitions it could take, or has too many if the number is negative; and of the other
-- holds and the partitions that nobody holds: through, consumers, held events, parked events, lagging keys, oldest_us
-- or 0. Returns NULL if there is no such subscription.
CREATE FUNCTION renew_hold(
  secret bytea, this_renewal bigint, this bytea, given bigint[], sent_for_us bigint[], settle_within_us bigint,
  takes boolean, new_consumers bigint, new_report bigint[],
  OUT hold bigint, OUT held bigint[], OUT held_through bigint[], OUT held_reserved bigint[], OUT sent_for bigint[],
  OUT lacks bigint, OUT current_incarnation bigint, OUT others bigint[]
) LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  now_us bigint;
  me CONSTANT bytea := sha256(secret);
  lasts_us CONSTANT bigint := (SELECT hold_lasts_us FROM bounds);
  mine subscription_holds;
  other subscription_holds;
  members bytea[];
  part integer;
  each integer;
  moved boolean := false;
BEGIN
  -- Before the holds, so that no two gateways wait for each other.
  SELECT s.incarnation INTO current_incarnation FROM subscriptions s WHERE s.subscription = this FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  now_us := server_us();  -- after the wait for the lock
  settle_within_us := least(greatest(settle_within_us, 0), 86400000000);

  -- A hold of the time after a step of the clock counts from now.
  UPDATE subscription_holds h SET renewed_us = now_us, since_us = least(h.since_us, now_us)
    WHERE h.subscription = this AND h.renewed_us > now_us;
  SELECT h.* INTO mine FROM subscription_holds h WHERE h.subscription = this AND h.holder = me FOR UPDATE;
  IF NOT FOUND THEN
    IF (SELECT count(*) FROM subscription_holds h WHERE h.subscription = this) > 128 THEN
      -- If each gateway ends before it can end a hold, the holds without a partition must not keep others away.
      DELETE FROM subscription_holds h WHERE h.ctid = ANY (ARRAY(
        SELECT o.ctid FROM subscription_holds o
          WHERE o.subscription = this AND o.holder <> '' AND o.partitions = '{}' AND o.renewed_us <= now_us - lasts_us
          FOR UPDATE SKIP LOCKED));
    END IF;
    IF (SELECT count(*) FROM subscription_holds h WHERE h.subscription = this) > 128 THEN
      RAISE EXCEPTION 'too many gateways serve the subscription' USING ERRCODE = 'SG005';
    END IF;
    hold := nextval('subscription_numbers');
    INSERT INTO subscription_holds VALUES (
      this, me, hold, '{}', array_fill(0::bigint, ARRAY[16]), array_fill(0::bigint, ARRAY[16]),
      array_fill(0::bigint, ARRAY[16]), now_us, now_us, new_consumers, new_report, 0, this_renewal)
      RETURNING * INTO mine;
    moved := true;
  ELSIF this_renewal <= mine.latest_renewal THEN
    RAISE EXCEPTION 'the gateway has renewed the hold again since' USING ERRCODE = 'SG010';
  ELSE
    UPDATE subscription_holds h
      SET renewed_us = now_us, consumers = new_consumers, report = new_report, latest_renewal = this_renewal,
        since_us = CASE WHEN h.renewed_us > now_us - lasts_us / 2 THEN h.since_us ELSE now_us END
      WHERE h.subscription = this AND h.holder = me RETURNING * INTO mine;
  END IF;

  IF mine.since_us <= now_us - lasts_us THEN
    FOR other IN
      SELECT h.* FROM subscription_holds h
        WHERE h.subscription = this AND h.holder NOT IN ('', me) AND h.renewed_us <= now_us - lasts_us
        FOR UPDATE SKIP LOCKED
    LOOP
      FOREACH each IN ARRAY other.partitions LOOP
        PERFORM move_partition(this, other.holder, '', each, now_us + settle_within_us);
      END LOOP;
      DELETE FROM subscription_holds h WHERE h.subscription = this AND h.holder = other.holder;
      moved := true;
    END LOOP;
    -- Whose hold is locked writes a change, and could not renew it: its time counts from the end of this write.
    UPDATE subscription_holds h SET since_us = now_us
      WHERE h.subscription = this AND h.holder = me AND EXISTS (
        SELECT FROM subscription_holds o
          WHERE o.subscription = this AND o.holder NOT IN ('', me) AND o.renewed_us <= now_us - lasts_us);
  END IF;

  FOR i IN 1 .. cardinality(given) LOOP
    IF array_position(mine.partitions, given[i]) IS NOT NULL THEN
      mine.partitions := array_remove(mine.partitions, given[i]);
      PERFORM move_partition(this, me, '', given[i]::integer, now_us + least(greatest(sent_for_us[i], 0), 86400000000));
      moved := true;
    END IF;
  END LOOP;

  -- Partitions are for gateways with consumers. If there are none, for all, so that somebody knows what waits.
  SELECT array_agg(h.holder ORDER BY h.holder) INTO members FROM subscription_holds h
    WHERE h.subscription = this AND h.holder <> '' AND h.consumers > 0;
  IF members IS NULL THEN
    SELECT array_agg(h.holder ORDER BY h.holder) INTO members FROM subscription_holds h
      WHERE h.subscription = this AND h.holder <> '';
  END IF;
  part := CASE WHEN me = ANY (members)
    THEN 16 / cardinality(members) + (array_position(members, me) <= 16 % cardinality(members))::integer ELSE 0 END;
  SELECT h.* INTO STRICT mine FROM subscription_holds h WHERE h.subscription = this AND h.holder = me;
  SELECT h.* INTO STRICT other FROM subscription_holds h WHERE h.subscription = this AND h.holder = '' FOR UPDATE;
  IF takes AND cardinality(mine.partitions) < part THEN
    FOREACH each IN ARRAY other.partitions[1 : part - cardinality(mine.partitions)] LOOP
      PERFORM move_partition(this, '', me, each, other.sent_until_us[each]);
      moved := true;
    END LOOP;
    SELECT h.* INTO STRICT mine FROM subscription_holds h WHERE h.subscription = this AND h.holder = me;
    SELECT h.* INTO STRICT other FROM subscription_holds h WHERE h.subscription = this AND h.holder = '';
  END IF;
  IF moved THEN PERFORM wake_gateways('hold'); END IF;
  hold := mine.number;
  held := mine.partitions;
  held_through := mine.through;
  held_reserved := mine.reserved;
  -- After a step of the clock, not longer than consumers can hold events at all.
  sent_for := ARRAY(SELECT least(greatest(u - now_us, 0), settle_within_us)
                      FROM unnest(mine.sent_until_us) WITH ORDINALITY AS t (u, i) ORDER BY i);
  lacks := least(part - cardinality(mine.partitions), cardinality(other.partitions));

  SELECT ARRAY[
      coalesce(min(h.report[1]), 9223372036854775807), coalesce(sum(h.consumers), 0)::bigint,
      coalesce(sum(h.report[2]), 0)::bigint, coalesce(sum(h.report[3]), 0)::bigint,
      coalesce(sum(h.report[4]), 0)::bigint, coalesce(min(nullif(h.report[5], 0)), 0)]
    INTO others FROM subscription_holds h WHERE h.subscription = this AND h.holder NOT IN ('', me);
  IF cardinality(other.partitions) > 0 THEN
    others[1] := least(others[1], (SELECT min(other.through[p]) FROM unnest(other.partitions) AS p));
    others[4] := others[4] + (SELECT count(*) FROM subscription_events e
      WHERE e.subscription = this AND e.partition = ANY (other.partitions) AND e.mark = 3);
    others[5] := others[5] + (SELECT count(*) FROM subscription_keys k
      WHERE k.subscription = this AND k.partition = ANY (other.partitions));
  END IF;
END $$;

-- Ends the hold of the gateway of `secret`. Consumers can hold events of its partitions for `sent_for_us` more.
CREATE FUNCTION end_hold(secret bytea, this bytea, sent_for_us bigint) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  mine subscription_holds;
  each integer;
BEGIN
  PERFORM FROM subscriptions s WHERE s.subscription = this FOR NO KEY UPDATE;
  SELECT h.* INTO mine FROM subscription_holds h WHERE h.subscription = this AND h.holder = sha256(secret) FOR UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  FOREACH each IN ARRAY mine.partitions LOOP
    PERFORM move_partition(this, mine.holder, '', each,
                           server_us() + least(greatest(sent_for_us, 0), 86400000000));
  END LOOP;
  DELETE FROM subscription_holds h WHERE h.subscription = this AND h.holder = mine.holder;
  PERFORM wake_gateways('hold');
END $$;

-- Applies a change of a subscription, if the hold `this_hold` of the gateway of `secret` has not ended and has all
-- partitions that the change concerns, and if its number is greater than those of all changes before. Otherwise changes
-- nothing, and returns false. See SubscriptionChange.
CREATE FUNCTION change_subscription(
  needs_standby boolean, secret bytea, this_change bigint, this bytea, this_hold bigint,
  parts bigint[], new_through bigint[], new_reserved bigint[],
  erased bigint[],
  positions bigint[], partitions_of bigint[], marks bigint[], all_deliveries bigint[], all_uncounted bigint[],
  times_us bigint[], reasons bytea[],
  erased_keys bytea[], keys bytea[], partitions_of_keys bigint[], positions_of_keys bigint[],
  answered bigint[], answers bytea[]
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  mine subscription_holds;
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  SELECT h.* INTO mine FROM subscription_holds h
    WHERE h.subscription = this AND h.holder = sha256(secret) AND h.number = this_hold FOR UPDATE;
  IF NOT FOUND OR this_change <= mine.latest_change
      OR NOT (parts || partitions_of || partitions_of_keys) <@ mine.partitions THEN
    RETURN false;
  END IF;
  FOR i IN 1 .. cardinality(parts) LOOP
    mine.through[parts[i]::integer] := greatest(mine.through[parts[i]::integer], new_through[i]);
    mine.reserved[parts[i]::integer] := new_reserved[i];
  END LOOP;
  -- Also writes the row if nothing moves: the commit then waits until the standby has what was read before.
  UPDATE subscription_holds h SET through = mine.through, reserved = mine.reserved, latest_change = this_change
    WHERE h.subscription = this AND h.holder = mine.holder;
  IF cardinality(erased) > 0 THEN
    DELETE FROM subscription_events e
      WHERE e.subscription = this AND e.position = ANY (erased) AND e.partition = ANY (mine.partitions);
  END IF;
  IF cardinality(positions) > 0 THEN
    INSERT INTO subscription_events AS e
      SELECT this, * FROM unnest(
        positions, partitions_of, marks, all_deliveries, all_uncounted, times_us, reasons)
      ON CONFLICT (subscription, partition, position) DO UPDATE SET
        mark = excluded.mark, deliveries = excluded.deliveries, uncounted = excluded.uncounted,
        time_us = excluded.time_us, reason = excluded.reason;
  END IF;
  IF cardinality(erased_keys) > 0 THEN
    DELETE FROM subscription_keys k
      WHERE k.subscription = this AND k.partition = ANY (mine.partitions)
        AND sha256(k.key) = ANY (ARRAY(SELECT sha256(e) FROM unnest(erased_keys) AS e));
  END IF;
  IF cardinality(keys) > 0 THEN
    INSERT INTO subscription_keys AS k
      SELECT this, * FROM unnest(keys, partitions_of_keys, positions_of_keys)
      ON CONFLICT (subscription, partition, sha256(key)) DO UPDATE SET position = excluded.position;
  END IF;
  IF cardinality(answered) > 0 THEN
    UPDATE subscription_requests r SET answer = a.answer FROM unnest(answered, answers) AS a (id, answer)
      WHERE r.id = a.id AND r.subscription = this AND r.partition = ANY (mine.partitions) AND r.answer IS NULL;
    PERFORM wake_gateways('request');
  END IF;
  RETURN true;
END $$;

-- Continues a subscription after `start`, with another incarnation. All holds end. Parked events stay, and those that
-- were parked and must be sent again. Returns false, and changes nothing, if the subscription has another incarnation
-- than `before`: the server can carry out late what its gateway has given up, and after a later seek it is void.
CREATE FUNCTION seek_subscription(needs_standby boolean, this bytea, before bigint, start bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  start := least(greatest(start, 0), (SELECT latest FROM log));
  PERFORM FROM subscriptions s WHERE s.subscription = this AND s.incarnation = before FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  -- Until these locks, a gateway could reserve more, and send it.
  PERFORM FROM subscription_holds h WHERE h.subscription = this FOR UPDATE;
  UPDATE subscriptions s
    SET incarnation = nextval('subscription_numbers'),
      sought_from = greatest(s.sought_from, least(
        (SELECT latest FROM log),
        (SELECT max(r) FROM subscription_holds h, unnest(h.reserved) AS r WHERE h.subscription = this)))
    WHERE s.subscription = this;
  DELETE FROM subscription_holds h WHERE h.subscription = this AND h.holder <> '';
  UPDATE subscription_holds h
    SET partitions = ARRAY(SELECT generate_series(1::bigint, 16)), through = array_fill(start, ARRAY[16]),
      reserved = array_fill(start, ARRAY[16]), sent_until_us = array_fill(0::bigint, ARRAY[16])
    WHERE h.subscription = this AND h.holder = '';
  DELETE FROM subscription_events e WHERE e.subscription = this AND e.mark NOT IN (3, 4);
  DELETE FROM subscription_keys k WHERE k.subscription = this;
  PERFORM wake_gateways('hold');
  RETURN true;
END $$;

-- Deletes a subscription with everything that belongs to it. Returns false, and deletes nothing, if a gateway serves
-- it.
CREATE FUNCTION delete_subscription(needs_standby boolean, this bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF needs_standby THEN PERFORM require_standby(); END IF;
  -- In the order of renew_hold; a change locks its hold before it refers to the subscription.
  PERFORM FROM subscriptions s WHERE s.subscription = this FOR NO KEY UPDATE;
  PERFORM FROM subscription_holds h WHERE h.subscription = this FOR UPDATE;
  -- As in renew_hold: after a step of the clock, a hold counts from now.
  UPDATE subscription_holds h SET renewed_us = server_us() WHERE h.subscription = this AND h.renewed_us > server_us();
  IF EXISTS (
    SELECT FROM subscription_holds h
      WHERE h.subscription = this AND h.holder <> ''
        AND h.renewed_us > server_us() - (SELECT hold_lasts_us FROM bounds)) THEN
    RETURN false;
  END IF;
  DELETE FROM subscriptions s WHERE s.subscription = this;
  PERFORM wake_gateways('hold');
  RETURN true;
END $$;

-- For the owner of the store, when it was restored to an earlier state: no subscription is ahead of the log, and what
-- consumers have received since then is superseded. No gateway may be connected.
CREATE FUNCTION cut_subscriptions_back() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  end_of_log CONSTANT bigint := coalesce((SELECT latest FROM log), 0);
BEGIN
  -- No number of the time after the copy is used again.
  PERFORM setval('subscription_numbers', greatest(nextval('subscription_numbers'), server_us()));
  UPDATE subscriptions SET incarnation = nextval('subscription_numbers'), sought_from = least(sought_from, end_of_log);
  PERFORM move_partition(h.subscription, h.holder, '', p::integer, 0)
    FROM subscription_holds h, unnest(h.partitions) AS p WHERE h.holder <> '';
  DELETE FROM subscription_holds WHERE holder <> '';
  UPDATE subscription_holds
    SET through = ARRAY(SELECT least(t, end_of_log) FROM unnest(through) WITH ORDINALITY AS a (t, i) ORDER BY i),
      reserved = ARRAY(SELECT least(r, end_of_log) FROM unnest(reserved) WITH ORDINALITY AS a (r, i) ORDER BY i),
      sent_until_us = array_fill(0::bigint, ARRAY[16]);
  DELETE FROM subscription_events WHERE position > end_of_log;
  UPDATE subscription_keys SET position = end_of_log WHERE position > end_of_log;
  DELETE FROM subscription_requests;
END $$;

-- Asks the holder of a partition. Returns the id of the request, or NULL if there is no such subscription. Waits for no
-- standby: what counts is the answer.
CREATE FUNCTION ask_holder(secret bytea, this bytea, this_partition bigint, new_request bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  most CONSTANT integer := 10000;
  now_us CONSTANT bigint := server_us();
  asked bigint;
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  -- In the order of delete_subscription, so that the two do not wait for each other.
  PERFORM FROM subscriptions s WHERE s.subscription = this FOR KEY SHARE;
  IF NOT FOUND THEN RETURN NULL; END IF;
  -- Nobody waits for the answers of old requests.
  DELETE FROM subscription_requests r WHERE r.id = ANY (ARRAY(
    SELECT o.id FROM subscription_requests o WHERE o.asked_us NOT BETWEEN now_us - 60000000 AND now_us + 60000000
      ORDER BY o.id LIMIT 100 FOR UPDATE SKIP LOCKED));
  IF (SELECT count(*) FROM subscription_requests) >= most THEN
    RAISE EXCEPTION '% requests wait for an answer already', most USING ERRCODE = 'SG007';
  END IF;
  INSERT INTO subscription_requests (subscription, partition, asker, asked_us, request)
    VALUES (this, this_partition, sha256(secret), now_us, new_request) RETURNING id INTO asked;
  PERFORM wake_gateways('request');
  RETURN asked;
END $$;

-- Returns the oldest requests that the gateway of `secret` can answer.
CREATE FUNCTION requests_for(secret bytea) RETURNS TABLE (id bigint, of bytea, in_partition bigint, asked bytea)
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  SELECT r.id, r.subscription, r.partition, r.request FROM subscription_requests r
    JOIN subscription_holds h ON h.subscription = r.subscription AND r.partition = ANY (h.partitions)
    WHERE h.holder = sha256(secret) AND r.answer IS NULL
      AND r.asked_us BETWEEN (SELECT server_us()) - 60000000 AND (SELECT server_us()) + 60000000
    ORDER BY r.id LIMIT 64
$$;

-- Returns answers to the requests of the gateway of `secret`, and forgets these requests.
CREATE FUNCTION take_answers(secret bytea) RETURNS TABLE (asked bigint, given bytea)
LANGUAGE sql SECURITY DEFINER SET search_path FROM CURRENT AS $$
  DELETE FROM subscription_requests r WHERE r.id = ANY (ARRAY(
    SELECT o.id FROM subscription_requests o WHERE o.asker = sha256(secret) AND o.answer IS NOT NULL
      ORDER BY o.id LIMIT 64 FOR UPDATE)) RETURNING r.id, r.answer
$$;

REVOKE ALL ON FUNCTION wake_gateways, declare_subscription, move_partition, renew_hold, end_hold, change_subscription,
  seek_subscription, delete_subscription, cut_subscriptions_back, ask_holder, requests_for, take_answers FROM PUBLIC;
