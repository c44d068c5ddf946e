// The gateway's log and its audit, line by line.
import { readFileSync } from 'node:fs';
import { until } from './processes.mjs';

/** The lines of a text, but for the last one if its end is still on its way. */
const wholeLines = (text) => text.slice(0, text.lastIndexOf('\n') + 1).split('\n').filter(Boolean);

/** The records in a file of an audit. */
export const recordsOf = (file) => wholeLines(readFileSync(file, 'utf8')).map((line) => JSON.parse(line));

/** The lines of a gateway's log about these events. All of them are there once the gateway has ended. */
export const logged = ({ output }, ...events) =>
  wholeLines(output)
    .filter((line) => events.some((event) => line.includes(`"event":"${event}"`)))
    .map((line) => JSON.parse(line));

/** Resolves to these lines when there are so many. */
export async function logLines(gateway, count, ...events) {
  await until(() => logged(gateway, ...events).length >= count, `${count} lines about ${events}`);
  return logged(gateway, ...events);
}

/** Why a gateway did not start: the messages of its log's lines about that. */
export const startFaults = (stderr) => logged({ output: stderr }, 'start_failed').map(({ message }) => message);
