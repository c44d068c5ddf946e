// What the records of a history say about one event, one delivery, or one period. The rules of judge.mjs ask for it.

/** Outcomes after which an event is not delivered again. */
const FINAL = ['DONE', 'PARK'];

/** Times of consumers and of the gateway differ by less than this, unless the settings have another limit. */
const SLACK_MS = 3000;

const lastOf = (list) => list.at(-1);

/** Maps each key to its values, in order. */
function groupBy(values, keyOf) {
  const groups = new Map();
  for (const value of values) {
    const key = keyOf(value);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(value);
  }
  return groups;
}

export class Facts {
  /** @param {import('./judge.mjs').History} history */
  constructor({ steps, log, settings }) {
    this.settings = settings;
    this.slackMs = settings.slackMs ?? SLACK_MS;
    const of = (type) => steps.filter((step) => step.type === type);
    this.seeks = of('seek');
    this.settles = of('settle');
    this.streams = of('stream');
    this.restarts = of('restart');
    this.lapses = of('lapse');
    this.timeSteps = [...of('passTime'), ...of('retention')];
    this.gateways = new Map(this.streams.map(({ stream, gateway }) => [stream, gateway]));
    this.retries = of('retryParked');
    this.skips = of('skipParked');
    this.listings = of('listParked');
    this.retentions = of('retention');
    this.drained = lastOf(of('drained'));
    this.trimmed = new Set(this.retentions.flatMap(({ events }) => events));
    this.events = new Map(log.map((event, index) => [event.id, this.#eventOf(event, index)]));
    const deliveries = of('delivery').map((delivery) => ({ ...delivery, epoch: this.epochAt(delivery.at) }));
    this.late = this.#lateOf(deliveries);
    this.deliveries = deliveries.filter((delivery) => !this.late.has(delivery));
    // Two gateways can send an event with the same token during a lapse: the delivery that counts comes last.
    this.byToken = new Map([...this.late, ...this.deliveries].map((delivery) => [delivery.token, delivery]));
    this.consumersOf = groupBy(deliveries, ({ token }) => token);
    this.byEvent = groupBy(this.deliveries, ({ event }) => event);
    this.attempts = groupBy(this.#attempts(), ({ event }) => event);
    this.byKey = groupBy(this.events.values(), ({ key }) => key);
  }

  /** @param {{id: string, type: string, organization?: string, activity?: string}} event @param {number} index */
  #eventOf({ id, type, organization, activity }, index) {
    const { orderBy, types } = this.settings;
    const passes = types.length === 0 || types.includes(type);
    return { id, index, passes, key: { organization, activity, none: undefined }[orderBy] };
  }

  /**
   * The deliveries that arrived after a later delivery of the same event, on a stream that had begun before. They count
   * as lost. So do those of a gateway that does not know that another one has the partition and sends the event too: it
   * keeps nobody from sending, and nobody can settle what only it has sent.
   */
  #lateOf(deliveries) {
    const began = new Map(this.streams.map(({ stream, at }) => [stream, at]));
    const isBefore = (late, other) =>
      other.event === late.event &&
      other.epoch === late.epoch &&
      other.stream !== late.stream &&
      other.count > late.count &&
      !this.isCountedAnew(other, late);
    const isLate = (late) =>
      deliveries.some((other) => isBefore(late, other) && other.at < late.at && began.get(late.stream) < other.at);
    const isOfTwo = (late, other) =>
      (isBefore(late, other) && other.at < late.at) ||
      (other.token === late.token && other !== late && (other.at < late.at || !this.isInLapse(other)));
    const isOfLapse = (late) => this.isInLapse(late) && deliveries.some((other) => isOfTwo(late, other));
    return new Set(deliveries.filter((delivery) => isLate(delivery) || isOfLapse(delivery)));
  }

  /** Whether the gateway of a delivery may not have known that others had its partitions. */
  isInLapse({ stream, at }) {
    const isOf = ({ gateway = this.gateways.get(stream), ...lapse }) =>
      gateway === this.gateways.get(stream) && lapse.at < at && lapse.until > at;
    return this.lapses.some(isOf);
  }

  /** Each token of each settle: what the call did to the event. */
  *#attempts() {
    for (const settle of this.settles) {
      for (const token of settle.tokens) {
        const { event, epoch } = this.byToken.get(token);
        const isKnown = settle.superseded !== undefined;
        const isRefused = isKnown && settle.superseded.includes(token);
        yield { settle, token, event, epoch, outcome: settle.outcome, isRefused, isAccepted: isKnown && !isRefused };
      }
    }
  }

  /** The number of Seeks before this moment: the period in which the subscription continues from one place. */
  epochAt(at) {
    return this.seeks.filter((seek) => seek.at < at).length;
  }

  /** The moment since which an epoch lasts: the end of its Seek, or the begin of the history. */
  beginOf(epoch) {
    return epoch === 0 ? 0 : this.seeks[epoch - 1].until;
  }

  /** The deliveries of an event, in order. */
  deliveriesOf(event) {
    return this.byEvent.get(event) ?? [];
  }

  attemptsOf(event) {
    return this.attempts.get(event) ?? [];
  }

  /** The last delivery of an event before this moment, since the latest Seek. */
  lastDelivery(event, at) {
    const epoch = this.epochAt(at);
    return lastOf(this.deliveriesOf(event).filter((delivery) => delivery.at < at && delivery.epoch === epoch));
  }

  /**
   * Whether a delivery was on its way when the gateway sent `again`, an earlier event of its key that its stream had
   * delivered before. The gateway took back both, so the delivery is repeated too. Messages of two streams can cross.
   */
  hasCrossed(delivery, again) {
    const isBefore = ({ stream, at, count }) => stream === delivery.stream && at < again.at && count < again.count;
    const next = this.deliveriesOf(delivery.event).find(({ at }) => at > delivery.at);
    const isTakenBack = ['EARLIER_EVENT', 'CONSUMER_LEFT'].includes(next?.reason);
    return isTakenBack && this.deliveriesOf(again.event).some(isBefore);
  }

  /** The earlier events of the same key that pass the filter. */
  earlierOf({ key, index }) {
    if (key === undefined) return [];
    return this.byKey.get(key).filter((other) => other.index < index && other.passes);
  }

  /** Whether a Seek began between these moments. */
  isSoughtBetween(from, to) {
    return this.seeks.some(({ at }) => at > from && at < to);
  }

  /** Whether the latest Seek before this moment has passed the event. */
  isPassed(event, at) {
    return lastOf(this.seeks.filter((seek) => seek.at < at))?.passes.includes(event) ?? false;
  }

  /**
   * How many deliveries between these moments can have been lost on their way to a consumer, or were not sent because
   * their time was over before they were written.
   */
  losses(from, to) {
    const isBetween = (at) => at > from && at < to;
    const ended = this.streams.filter(({ until }) => isBetween(until)).length;
    // On a server, a write can take longer than any step waits.
    const unsent = this.settings.isShared ? this.timeSteps.filter(({ at }) => isBetween(at)).length : 0;
    return ended + this.restarts.filter(({ until }) => isBetween(until)).length + this.late.size + unsent;
  }

  /** Whether a call that changes parked events, and began between these moments, names the event. */
  isUnparkedBetween(event, from, to) {
    const names = ({ at, until, events, notParked = [] }) =>
      at < to && until > from && event in events && !notParked.includes(event);
    return this.retries.some(names) || this.skips.some(names);
  }

  /** Whether the deliveries of the event may have been counted from 1 again between two of them, after RetryParked. */
  isCountedAnew(before, delivery) {
    return delivery.retried && this.isUnparkedBetween(delivery.event, before.at, delivery.at);
  }

  /** Whether RetryParked returned the event to the subscription before this moment: it then has no order. */
  isRetried(event, at) {
    return this.retries.some((call) => call.at < at && event in call.events);
  }

  /** Whether an earlier PARK, or a list, shows that the event may be parked or removed. */
  mayBeParked(event, at) {
    const isListed = this.listings.some(({ parked = {} }) => event in parked);
    const isParking = ({ outcome, settle, isRefused }) => outcome === 'PARK' && settle.at < at && !isRefused;
    return isListed || this.attemptsOf(event).some(isParking) || this.skips.some(({ events }) => event in events);
  }

  /** Whether the event may be settled or parked at this moment. */
  mayBeFinished({ id }, at) {
    if (this.trimmed.has(id) || this.isPassed(id, at) || this.isRetried(id, at)) return true;
    if (this.mayBeParked(id, at)) return true;
    const epoch = this.epochAt(at);
    const isFinal = (attempt) =>
      attempt.epoch === epoch && FINAL.includes(attempt.outcome) && attempt.settle.at < at && !attempt.isRefused;
    return this.attemptsOf(id).some(isFinal);
  }

  /** Whether a settle has made the event done before this moment, since the latest Seek. */
  isDone(event, at) {
    const epoch = this.epochAt(at);
    return this.attemptsOf(event).some(
      (attempt) =>
        attempt.epoch === epoch && attempt.outcome === 'DONE' && attempt.isAccepted && attempt.settle.until < at,
    );
  }

  /** The latest time at which the time `settle_within` of a delivery certainly began. */
  heldFromMs(delivery) {
    const extensions = this.attemptsOf(delivery.event)
      .filter(({ token, outcome, isAccepted }) => token === delivery.token && outcome === 'EXTEND' && isAccepted)
      .map(({ settle }) => settle.atMs);
    return Math.max(delivery.atMs, ...extensions);
  }

  /** Whether the client of a consumer that got this delivery cancelled a stream between these moments. */
  hasLeft({ token }, from, to) {
    const consumers = this.consumersOf.get(token).map(({ consumer }) => consumer);
    return this.streams.some(({ consumer, left }) => consumers.includes(consumer) && left > from && left < to);
  }

  /**
   * Whether a consumer left between these moments that had resumed an event of this key: it then also holds the other
   * events of the key that may have been sent.
   */
  hasLeftWithKey(key, from, to) {
    const isOfKey = (token) => this.events.get(this.byToken.get(token).event)?.key === key;
    return (
      key !== undefined &&
      this.streams.some(
        ({ held, superseded = [], left }) =>
          left > from && left < to && held.some((token) => isOfKey(token) && !superseded.includes(token)),
      )
    );
  }
}
