// What is held back until a test lets it go.

export class Holds {
  #ends = new Set();
  #changed;

  /** @param {() => void} changed called when one more or one less is held */
  constructor(changed) {
    this.#changed = changed;
  }

  get count() {
    return this.#ends.size;
  }

  /** Resolves when `release` is called, or `abandoned` is: nobody waits for it any more. */
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

  /** @returns {number} how many were held. */
  release() {
    const ends = [...this.#ends];
    ends.forEach((end) => end());
    return ends.length;
  }
}
