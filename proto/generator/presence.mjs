// Which sources have an element of the catalog. A source can be behind the others, so the absence of an element means
// that upstream has removed it only if the source is of a later day than every source that has it.

/**
 * The releases without an element, by their labels: of each source, the first release since the source has not had it.
 *   gone      those that are of a later day than the newest release with the element: upstream has removed it
 *   behind    the others: the element may be newer than they are
 * @typedef {{gone?: string[], behind?: string[]}} Absence
 */

/** The name of a release in the catalog, such as `crate 0.17.1`. @param {import('./catalog.mjs').Release} release */
export const labelOf = ({ source, version }) => `${source} ${version}`;

/** The absence of an element, without the element. @param {Absence} element @returns {Absence} */
export const absenceOf = ({ gone, behind }) => ({ ...(gone && { gone }), ...(behind && { behind }) });

const absentFrom = (/** @type {Absence} */ { gone = [], behind = [] }) => [...gone, ...behind];

/** Records which sources have elements, while a release is merged. */
export class Presence {
  /**
   * @param {import('./catalog.mjs').Release[]} followed the releases so far, ordered by day
   * @param {import('./catalog.mjs').Release} release
   */
  constructor(followed, release) {
    const all = [...followed, release];
    this.release = release;
    this.byLabel = new Map(all.map((one) => [labelOf(one), one]));
    /** The newest release of each source. @type {Map<string, import('./catalog.mjs').Release>} */
    this.newest = new Map(all.map((one) => [one.source, one]));
  }

  /** The sources whose newest release has an element of `owner`. @returns {string[]} */
  sourcesWith(/** @type {Absence} */ element, /** @type {Absence} */ owner = {}) {
    const without = [element, owner].flatMap(absentFrom).map((label) => this.byLabel.get(label).source);
    return [...this.newest.keys()].filter((source) => !without.some((one) => one === source));
  }

  /** Whether a source other than that of the release has an element of `owner`. */
  isElsewhere(/** @type {Absence} */ element, /** @type {Absence} */ owner) {
    return this.sourcesWith(element, owner).some((source) => source !== this.release.source);
  }

  /** Records that an element of `owner` is new: no other source has it. */
  add(/** @type {Absence} */ element, /** @type {Absence} */ owner = {}) {
    const others = this.sourcesWith(owner).filter((source) => source !== this.release.source);
    this.#set(
      element,
      others.map((source) => labelOf(this.newest.get(source))),
      owner,
    );
  }

  /** Records whether the release has an element of `owner`. */
  update(/** @type {Absence} */ element, /** @type {boolean} */ isPresent, /** @type {Absence} */ owner = {}) {
    const labels = absentFrom(element);
    const own = labels.find((label) => this.byLabel.get(label).source === this.release.source);
    const others = labels.filter((label) => label !== own);
    this.#set(element, isPresent ? others : [...others, own ?? labelOf(this.release)], owner);
  }

  #set(/** @type {Absence} */ element, /** @type {string[]} */ labels, /** @type {Absence} */ owner) {
    const sources = this.sourcesWith({ behind: labels }, owner);
    const newest =
      sources
        .map((source) => this.newest.get(source).day)
        .sort()
        .at(-1) ?? '';
    const dayOf = (/** @type {string} */ label) => this.byLabel.get(label).day;
    const gone = labels.filter((label) => dayOf(label) > newest).sort();
    const behind = labels.filter((label) => dayOf(label) <= newest).sort();
    delete element.gone;
    delete element.behind;
    if (gone.length > 0) element.gone = gone;
    if (behind.length > 0) element.behind = behind;
  }
}
