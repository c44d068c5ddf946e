// Lets tests wait for a condition without polling.

export class Waiters {
  #waiting = new Set();

  /**
   * Resolves to the result of `look` as soon as this result is not undefined. Calls `look` now and after each wake().
   * @template T
   * @param {() => T | undefined} look
   * @param {number} [timeoutMs]
   * @returns {Promise<T | undefined>} undefined after the timeout.
   */
  until(look, timeoutMs = 30_000) {
    return new Promise((resolve) => {
      const end = (seen) => {
        clearTimeout(timer);
        this.#waiting.delete(lookAgain);
        resolve(seen);
      };
      const lookAgain = () => {
        const seen = look();
        if (seen !== undefined) end(seen);
      };
      const timer = setTimeout(() => end(undefined), timeoutMs);
      this.#waiting.add(lookAgain);
      lookAgain();
    });
  }

  /** Checks the conditions of all waiting calls again. */
  wake() {
    [...this.#waiting].forEach((lookAgain) => lookAgain());
  }
}
