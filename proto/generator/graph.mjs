// Which definitions use which, and where each definition is used: in requests, in submits, in responses.
import { activityOneofs } from './catalog.mjs';

/** The definition or enum that a kind names, without "[]". */
export const named = (kind) => kind.replace(/\[\]$/, '');

/** The graph of a catalog's definitions. */
export class Graph {
  /** @param {import('./catalog.mjs').Catalog} catalog */
  constructor(catalog) {
    this.catalog = catalog;
    const versions = Object.values(catalog.operations).flat();
    const submits = versions.filter(({ parameters }) => parameters).map(({ parameters }) => parameters);
    const activities = activityOneofs.flatMap((name) => this.uses(name));
    /** The intents and results of activities. */
    this.activityParts = new Set(activities);
    /** Definitions in the requests of callers. */
    this.inRequests = this.closure([...submits, ...versions.flatMap(({ request }) => request ?? [])]);
    /** Definitions in the parameters or results of submits, also of those that callers can no longer make. */
    this.inSubmits = this.closure([...submits, ...activities]);
  }

  /** The messages and enums that a definition names directly. */
  uses(definition) {
    const members = this.catalog.messages[definition]?.members ?? {};
    return Object.values(members)
      .map(({ kind }) => named(kind))
      .filter((name) => this.isDefined(name));
  }

  isDefined(name) {
    return name in this.catalog.messages || name in this.catalog.enums;
  }

  /** The definitions that `roots` use directly or indirectly, with the roots. */
  closure(roots) {
    const seen = new Set();
    const visit = (name) => {
      if (seen.has(name)) return;
      seen.add(name);
      this.uses(name).forEach(visit);
    };
    roots.forEach(visit);
    return seen;
  }
}
