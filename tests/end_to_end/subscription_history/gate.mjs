// A gate that the callers of a round enter for each call. While it is closed, no new call begins.
import { until } from '../processes.mjs';

export class Gate {
  #isOpen = true;
  #waiting = [];
  #calls = 0;

  /** Waits until the gate is open, and counts a call as in progress until the returned function is called. */
  async enter() {
    while (!this.#isOpen) await new Promise((resolve) => this.#waiting.push(resolve));
    this.#calls += 1;
    let isIn = true;
    return () => {
      if (isIn) this.#calls -= 1;
      isIn = false;
    };
  }

  /**
   * Closes the gate, waits until no call is in progress and `isQuiet` returns true, and does `work`.
   * @param {() => Promise<boolean>} isQuiet
   * @param {() => any} work
   */
  async closedFor(isQuiet, work) {
    this.#isOpen = false;
    try {
      await until(async () => this.#calls === 0 && (await isQuiet()), 'no call is in progress');
      return await work();
    } finally {
      this.#isOpen = true;
      for (const resolve of this.#waiting.splice(0)) resolve();
    }
  }
}
