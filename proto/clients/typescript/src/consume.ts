// A consumer of a shared subscription.
import type { MessageInitShape } from '@bufbuild/protobuf';
import { StampgateError } from './errors.js';
import type { Gateway } from './gateway.js';
import { resumed } from './resume.js';
import { Backoff } from './retry.js';
import { SettleOutcome, SubscriptionService, type Delivery, type SettleRequestSchema } from './v1.js';

export interface ConsumeOptions {
  /** The largest number of events that the consumer holds: the one that it handles, and the next ones. 10 by default. */
  maxUnsettled?: number;
  /**
   * After how long an event is delivered again after its handler has failed for the first time. 1 second by default. The
   * time is doubled each further time, up to an hour.
   */
  retryDelayMs?: number;
  /** Ends the consumer, without an error, after the handler has returned and its event is settled. */
  signal?: AbortSignal;
  /** Receives what an operator must know, with the error of a handler. `console.warn` by default. */
  log?: (message: string, error?: unknown) => void;
}

/**
 * Thrown by a handler for an event that no repetition can handle: the gateway sets the event aside, with the reason, and
 * continues with the next one. Write no secret into the reason: the gateway stores and logs it.
 */
export class Park extends Error {
  override name = 'Park';

  constructor(readonly reason: string) {
    super(reason);
  }
}

const LONGEST_RETRY_DELAY_MS = 3_600_000;
const LONGEST_PARK_REASON = 256;

/** The time to settle an event if the gateway does not state it. */
const DEFAULT_SETTLE_WITHIN_MS = 30_000;

/** The time limit of the settle that gives back what a consumer holds when it ends. */
const RELEASE_MS = 2_000;

export async function consume(
  this: Gateway,
  subscription: string,
  handle: (delivery: Delivery) => unknown,
  options: ConsumeOptions = {},
): Promise<void> {
  const { maxUnsettled = 10, signal } = options;
  const consumer = new Consumer(this, subscription, options);
  const leaving = new AbortController();
  const receiving = consumer.receive(maxUnsettled, leaving.signal);
  const wake = () => consumer.wake();
  signal?.addEventListener('abort', wake);
  try {
    for (let next; (next = await consumer.next());) await consumer.settle(next, await outcomeOf(handle, next));
  } finally {
    signal?.removeEventListener('abort', wake);
    leaving.abort();
    await receiving;
    clearTimeout(consumer.nextExtension);
    // The cancellation of the stream alone can be lost if the connection is then closed.
    await consumer.settleHeld(SettleOutcome.RETRY, RELEASE_MS);
  }
}

/** What a handler has thrown. Undefined if it has returned. */
async function outcomeOf(handle: (delivery: Delivery) => unknown, delivery: Delivery): Promise<Failure | undefined> {
  try {
    await handle(delivery);
    return undefined;
  } catch (error) {
    return { error };
  }
}

interface Failure {
  error: unknown;
}

type Outcome = Pick<MessageInitShape<typeof SettleRequestSchema>, 'outcome' | 'retryDelayMs' | 'parkReason'>;

/** What a consumer holds. Its events are handled one at a time, in the order of their arrival. */
class Consumer {
  /** The deliveries by their tokens, in the order of arrival. The first one is the one that is handled. */
  readonly #held = new Map<string, Delivery>();
  readonly #log: NonNullable<ConsumeOptions['log']>;
  readonly #retryDelayMs: number;
  readonly #signal: AbortSignal | undefined;
  /** Why no more deliveries arrive. */
  #ended: Failure | undefined;
  /** The time between extensions of the held events: a failed try leaves time for another one. */
  #extendEveryMs = Infinity;
  /**
   * Deliveries that arrive before this time can have been sent before the latest RETRY, which has ended those of its
   * key.
   */
  #doubtUntilMs = -Infinity;
  #hasDoubtful = false;
  /** Runs from the first message of the first stream on. */
  nextExtension: NodeJS.Timeout | undefined;

  constructor(
    readonly gateway: Gateway,
    readonly subscription: string,
    { retryDelayMs = 1_000, signal, log = console.warn }: ConsumeOptions,
  ) {
    this.#retryDelayMs = retryDelayMs;
    this.#signal = signal;
    this.#log = log;
  }

  /** Ends the wait for the next delivery, if there is one. */
  wake = () => {};

  /** Receives deliveries until the signal aborts or an error ends this. */
  async receive(maxUnsettled: number, signal: AbortSignal): Promise<void> {
    const { subscription } = this;
    let isFirst = true;
    const next = () => {
      isFirst = true;
      return { subscription, maxUnsettled, heldTokens: [...this.#held.keys()] };
    };
    try {
      for await (const message of resumed(this.gateway, SubscriptionService.method.consume, next, { signal })) {
        this.#drop(message.supersededTokens);
        for (const delivery of message.deliveries) this.#held.set(delivery.token, delivery);
        if (message.deliveries.length > 0 && performance.now() < this.#doubtUntilMs) this.#hasDoubtful = true;
        if (isFirst) this.#settleWithin(message.settleWithinMs || DEFAULT_SETTLE_WITHIN_MS);
        isFirst = false;
        this.wake();
      }
    } catch (error) {
      this.#ended = { error };
      this.wake();
    }
  }

  /** The delivery to handle next. Undefined if the consumer must stop. */
  async next(): Promise<Delivery | undefined> {
    while (!this.#signal?.aborted) {
      if (this.#hasDoubtful) {
        await this.#confirm();
        continue;
      }
      const [first] = this.#held.values();
      if (first) return first;
      if (this.#ended) throw this.#ended.error;
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
    return undefined;
  }

  /** Settles a delivery whose handler has returned or failed. */
  async settle(delivery: Delivery, failure?: Failure): Promise<void> {
    const settled = this.#outcome(delivery, failure);
    if (settled.outcome === SettleOutcome.RETRY) this.#doubtUntilMs = performance.now() + 3 * this.#extendEveryMs;
    const superseded = await this.#repeatSettle([delivery.token], settled);
    if (!superseded) return;
    this.#drop(superseded);
    this.#held.delete(delivery.token);
    if (settled.outcome !== SettleOutcome.RETRY && superseded.length === 0) return;
    // With this event, the consumer has lost the later ones of its key.
    await this.#confirm();
  }

  /** Drops what the consumer holds, as far as the gateway states that it is no longer valid. */
  async #confirm(): Promise<void> {
    this.#hasDoubtful = false;
    const tokens = [...this.#held.keys()];
    if (tokens.length > 0) this.#drop((await this.#repeatSettle(tokens, { outcome: SettleOutcome.EXTEND })) ?? []);
  }

  /** Tries once to extend, or to give back, what the consumer holds. */
  async settleHeld(outcome: SettleOutcome.EXTEND | SettleOutcome.RETRY, timeoutMs: number): Promise<void> {
    const { subscription } = this;
    const tokens = [...this.#held.keys()];
    if (tokens.length === 0) return;
    const settle = this.gateway.call(
      SubscriptionService.method.settle,
      { subscription, tokens, outcome },
      { timeoutMs },
    );
    const response = await settle.catch(() => undefined);
    if (outcome === SettleOutcome.EXTEND) this.#drop(response?.supersededTokens ?? []);
  }

  /** Sets the time between extensions. If it is shorter than before, the next extension is due now. */
  #settleWithin(timeMs: number): void {
    const before = this.#extendEveryMs;
    this.#extendEveryMs = timeMs / 3;
    if (this.#extendEveryMs < before) this.#extend();
  }

  #extend(): void {
    clearTimeout(this.nextExtension);
    this.nextExtension = setTimeout(() => this.#extend(), this.#extendEveryMs);
    void this.settleHeld(SettleOutcome.EXTEND, this.#extendEveryMs);
  }

  #outcome({ event, deliveryCount }: Delivery, failure?: Failure): Outcome {
    if (!failure) return { outcome: SettleOutcome.DONE };
    const { error } = failure;
    if (error instanceof Park) {
      this.#log(`event ${event?.eventId} is parked: ${error.reason}`);
      return { outcome: SettleOutcome.PARK, parkReason: shortened(error.reason) };
    }
    const delayMs = this.#retryDelayMs * 2 ** (deliveryCount - 1);
    const retryDelayMs = Math.round(Math.min(delayMs, LONGEST_RETRY_DELAY_MS));
    const after = `it is delivered again after ${retryDelayMs} ms`;
    this.#log(`the handler failed for event ${event?.eventId}, delivery ${deliveryCount}; ${after}`, error);
    return { outcome: SettleOutcome.RETRY, retryDelayMs };
  }

  /**
   * Repeats a settle until it succeeds, and returns the tokens that are no longer valid. Returns undefined if the
   * consumer stops before: its events are then delivered again.
   */
  async #repeatSettle(tokens: string[], outcome: Outcome): Promise<string[] | undefined> {
    const backoff = new Backoff(this.#signal);
    const request = { subscription: this.subscription, tokens, ...outcome };
    for (;;) {
      try {
        return (await this.gateway.call(SubscriptionService.method.settle, request)).supersededTokens;
      } catch (error) {
        if (!(error instanceof StampgateError)) throw error;
        if (await backoff.wait(error)) continue;
        if (!this.#signal?.aborted) throw error;
        return undefined;
      }
    }
  }

  /** Forgets deliveries that are no longer valid: the gateway delivers their events again, or has settled them. */
  #drop(tokens: string[]): void {
    for (const token of tokens) {
      const delivery = this.#held.get(token);
      if (this.#held.delete(token)) {
        this.#log(`the consumer has lost event ${delivery?.event?.eventId}, which can be delivered again`);
      }
    }
  }
}

/** The beginning of a text that has at most as many bytes as a reason can have. */
function shortened(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(LONGEST_PARK_REASON));
  return text.slice(0, read);
}
