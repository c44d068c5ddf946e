// Holds operations back until a test releases them.

export class Holds {
  #ends = new Set();
  #changed;

  /** @param {() => void} changed called when the number of held operations changes */
  constructor(changed) {
    this.#changed = changed;
  }

  get count() {
    return this.#ends.size;
  }

  /**
   * Holds one operation. The returned `released` resolves when a test calls release(), or when the caller calls the
   * returned `abandoned` because the client has disconnected.
   */
  hold() {
    let end;
    const released = new Promise((resolve) => {
      end = () => {
        this.#ends.delete(end);
        resolve();
        this.#changed();
      };
    });
    this.#ends.add(end);
    this.#changed();
    return { released, abandoned: end };
  }

  /** Releases all held operations. @returns {number} the number of released operations. */
  release() {
    const ends = [...this.#ends];
    ends.forEach((end) => end());
    return ends.length;
  }
}
