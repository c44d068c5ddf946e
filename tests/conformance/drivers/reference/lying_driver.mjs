// The reference driver with one fault: lying_driver.mjs LIE. The judge's own test shows that the judge finds each fault.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const dropped = (name) => (line) => ({ ...line, error: line.error && { ...line.error, [name]: undefined } });

const REPEATED = ['UNAVAILABLE', 'UNKNOWN', 'DEADLINE_EXCEEDED'];

/** Replaces a submit that `start` starts by calls, each with a key of its own, until one of them succeeds. */
function withNewKeys() {
  const submits = new Map();
  const calls = (submit) => ({
    ...submit,
    what: 'call',
    request: { ...submit.request, idempotency_key: randomUUID() },
  });
  return {
    command(command) {
      if (command.what !== 'submit') return command;
      submits.set(command.id, { ...command, deadline_ms: undefined });
      return calls(command);
    },
    line({ response, ...line }, send) {
      const { id, error } = line;
      const submit = submits.get(id);
      if (response && submit) return { id, result: response.activity.result };
      if (submit?.isRepeated && line.ok) return [];
      if (!submit || !REPEATED.includes(error?.code)) return { ...line, response };
      submit.isRepeated = true;
      send([calls(submit), { do: 'wait', id }]);
      return [];
    },
  };
}

/**
 * What a liar sends instead of a command, and prints instead of a line: one line, or several in a list. `line` can also
 * send further commands.
 */
const LIES = {
  'forgets the key of the caller': { command: (command) => ({ ...command, key: undefined }) },
  'does not wait': { command: (command) => ({ ...command, wait: false }) },
  'ignores the cursor': {
    command: (command) =>
      command.cursor ? { ...command, cursor: null, request: { end: 'LOG_END_EARLIEST' } } : command,
  },
  'submits twice': {
    command: (command) => (command.do === 'submit' ? [{ ...command, id: 'swallowed' }, command] : command),
    line: (line) => (line.id === 'swallowed' ? [] : line),
  },
  'repeats submits with new keys': withNewKeys(),
  'hides violations': { line: dropped('violations') },
  'hides the delay of RetryInfo': { line: dropped('retry_delay_ms') },
  'rounds large numbers': {
    line: (line) =>
      JSON.parse(JSON.stringify(line).replaceAll(/"(\d{17,})"/g, (_, digits) => `"${BigInt(Number(digits))}"`)),
  },
  'loses an event': { line: (line) => (line.event?.event_id === '2' ? [] : line) },
  'repeats an event': { line: (line) => (line.event?.event_id === '2' ? [line, line] : line) },
  'settles a failed event as done': {
    command: (command) => (command.do === 'consume' ? { ...command, fails: {} } : command),
  },
  'handles an event twice': { line: (line) => (line.delivery?.event_id === '2' ? [line, line] : line) },
  'accepts every event': { line: (line) => ('valid' in line ? { valid: true } : line) },
  'takes a pending activity for a completed one': {
    line: ({ pending, ...line }) => (pending ? { ...line, result: {} } : line),
  },
  'ends with an error': { status: 1 },
  'takes an unknown outcome for a refusal': {
    line: ({ outcome_unknown: unknown, ...line }) =>
      unknown ? { ...line, error: { code: 'PERMISSION_DENIED', message: 'no' } } : line,
  },
};

const same = (value) => value;
const { command = same, line = same, status } = LIES[process.argv[2]];
const write = (stream, values) => [values].flat().forEach((value) => stream.write(`${JSON.stringify(value)}\n`));

const reference = spawn(process.execPath, [fileURLToPath(new URL('driver.mjs', import.meta.url))], {
  stdio: ['pipe', 'pipe', 'inherit'],
});
const send = (commands) => write(reference.stdin, commands);
createInterface({ input: reference.stdout }).on('line', (text) => write(process.stdout, line(JSON.parse(text), send)));
createInterface({ input: process.stdin })
  .on('line', (text) => send(command(JSON.parse(text))))
  .on('close', () => reference.stdin.end());
reference.on('close', (ending) => process.exit(status ?? ending));
