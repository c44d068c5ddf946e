// Reads the lines of the gateway's log, and the records of its audit log.
import { readFileSync } from 'node:fs';
import { until } from './processes.mjs';

/** The complete lines of a text. */
const wholeLines = (text) =>
  text
    .slice(0, text.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean);

/** The records in an audit file. */
export const recordsOf = (file) => wholeLines(readFileSync(file, 'utf8')).map((line) => JSON.parse(line));

/** The lines of a gateway's log about these events. The log is complete only after the gateway has ended. */
export const logged = ({ output }, ...events) =>
  wholeLines(output)
    .filter((line) => events.some((event) => line.includes(`"event":"${event}"`)))
    .map((line) => JSON.parse(line));

/** Resolves to the lines about these events when there are `count` of them. */
export async function logLines(gateway, count, ...events) {
  await until(() => logged(gateway, ...events).length >= count, `${count} lines about ${events}`);
  return logged(gateway, ...events);
}

/** The reasons why a gateway did not start: the messages of its log lines `start_failed`. */
export const startFaults = (stderr) => logged({ output: stderr }, 'start_failed').map(({ message }) => message);
