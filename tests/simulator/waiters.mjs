// Lets tests wait for a condition without polling.

export class Waiters {
  #waiting = new Set();

  /**
   * Resolves to what `look` returns as soon as that is not undefined.
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

  /** Checks all conditions again. */
  wake() {
    [...this.#waiting].forEach((lookAgain) => lookAgain());
  }
}
