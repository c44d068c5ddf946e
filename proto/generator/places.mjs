// The file of each message and enum. A file imports only files of earlier areas, in the order of the table of areas.
import { activityOneofs } from './catalog.mjs';
import { subjectOf } from './operations.mjs';

/**
 * Returns the area of each definition and enum that is in a file of types. A definition keeps its area, unless a
 * definition of an earlier area begins to use it.
 * @param {import('./reviewed.mjs').Reviewed} reviewed
 * @param {import('./graph.mjs').Graph} graph
 * @param {import('./operations.mjs').Method[]} methods
 * @param {(definition: string) => string} protoName
 * @param {Object<string, string>} locked areas by proto name
 * @returns {Map<string, string>}
 */
export function placesOf(reviewed, graph, methods, protoName, locked) {
  const order = Object.keys(reviewed.areas);
  const rank = (area) => {
    const index = order.indexOf(area);
    if (index < 0) throw new Error(`the table of areas does not have the area ${area}`);
    return index;
  };
  const places = new Map();
  const pinned = new Set();
  const place = (definition, area) => {
    rank(area);
    places.set(definition, area);
  };
  const submits = methods.filter(({ version }) => version.parameters);
  const byParameters = new Map(submits.map(({ version, area }) => [version.parameters, area]));
  const bySubject = new Map(submits.map(({ version, area }) => [subjectOf(version.parameters), area]));
  const { messages, enums } = graph.catalog;
  for (const definition of [...Object.keys(messages), ...Object.keys(enums)]) {
    const fixed =
      reviewed.type(definition).area ??
      byParameters.get(definition) ??
      (graph.activityParts.has(definition) ? (bySubject.get(subjectOf(definition)) ?? 'organization') : undefined);
    if (fixed) pinned.add(definition);
    const area = fixed ?? locked[protoName(definition)];
    if (area) place(definition, area);
  }

  const users = new Map(Object.keys(messages).map((definition) => [definition, graph.uses(definition)]));
  const roots = methods.flatMap(({ area, version }) =>
    [version.request, version.response].flatMap((root) => (root ? [[area, graph.uses(root)]] : [])),
  );
  // Moves each definition to the earliest area that uses it, until nothing moves.
  for (let moved = true; moved;) {
    moved = false;
    const use = (area, used) => {
      for (const name of used) {
        if (pinned.has(name) || (places.has(name) && rank(places.get(name)) <= rank(area))) continue;
        place(name, area);
        moved = true;
      }
    };
    for (const [area, used] of roots) use(area, used);
    for (const [definition, used] of users) if (places.has(definition)) use(places.get(definition), used);
  }
  for (const [definition, used] of users) {
    if (!places.has(definition) || activityOneofs.includes(definition)) continue;
    const late = used.find((name) => places.has(name) && rank(places.get(name)) > rank(places.get(definition)));
    if (late) {
      throw new Error(
        `${definition} is in the area ${places.get(definition)}, but uses ${late} of the later ` +
          `area ${places.get(late)}: change the order of the areas, or name the area in the table of types`,
      );
    }
  }
  return places;
}
