#!/usr/bin/env node
// Measures how much memory each kind of attack alone adds, and prints the table of gateway/SECURITY.md.
//
//   tests/end_to_end/attacks/measure.mjs [--write] [KIND ...]
//
// Without KIND it measures every kind, which takes half an hour. --write also writes the table into gateway/SECURITY.md.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../paths.mjs';
import { Cost, tableOf } from './costs.mjs';
import { KINDS } from './kinds.mjs';
import { alone } from './mix.mjs';
import { Stage, runRound } from './round.mjs';

const PAGE = join(root, 'gateway/SECURITY.md');
const [BEGIN, END] = ['<!-- tests/end_to_end/attacks/measure.mjs --write: begin -->', '<!-- end -->'];

/** Calls `work` with a test context, and ends what belongs to it. */
async function scoped(work) {
  const ends = [];
  try {
    return await work({ after: (end) => ends.push(end) });
  } finally {
    for (const end of ends) await end();
  }
}

async function measure(kinds) {
  const costs = [];
  await scoped(async (whole) => {
    const stage = await Stage.prepare(whole);
    for (const kind of kinds) {
      for (const parts of alone(kind)) {
        const [{ party }] = parts;
        const observation = await scoped((t) => runRound(t, stage, parts));
        costs.push(new Cost(kind, party, observation));
        process.stderr.write(`${kind} (${party}): ${costs.at(-1).text} MiB\n`);
      }
    }
  });
  return tableOf(costs);
}

/** Replaces the text between the two comments. */
function write(table) {
  const page = readFileSync(PAGE, 'utf8');
  const from = page.indexOf(BEGIN);
  const to = page.indexOf(END, from);
  if (from < 0 || to < 0) throw new Error(`${PAGE} has no place for the table`);
  writeFileSync(PAGE, `${page.slice(0, from + BEGIN.length)}\n${table}\n${page.slice(to)}`);
}

const names = process.argv.slice(2).filter((each) => each !== '--write');
const unknown = names.filter((name) => !(name in KINDS));
if (unknown.length > 0) throw new Error(`no such kind: ${unknown.join(', ')}`);
const table = await measure(names.length > 0 ? names : Object.keys(KINDS));
console.log(table);
if (process.argv.includes('--write')) write(table);
process.exit();
