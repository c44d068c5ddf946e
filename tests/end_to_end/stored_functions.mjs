// Changes the functions of a store on PostgreSQL, so that a test shows what they protect from.
import assert from 'node:assert/strict';

/**
 * Replaces texts in the source of a function of the store. Each text must occur.
 * @param {import('../postgresql/cluster.mjs').PostgresServer} server
 * @param {string} name
 * @param {[string | RegExp, string][]} replacements
 */
export async function alter(server, name, replacements) {
  let source = await server.sql(`SELECT pg_get_functiondef('stampgate.${name}'::regproc)`);
  for (const [from, to] of replacements) {
    const changed = typeof from === 'string' ? source.replaceAll(from, to) : source.replace(from, to);
    assert.notEqual(changed, source, `${name} contains: ${from}`);
    source = changed;
  }
  await server.sql(source);
}
