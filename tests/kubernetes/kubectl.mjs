// Runs kubectl and helm on the node.
import { run } from '../end_to_end/harness.mjs';

/** Longer than each command needs on a busy machine. */
const LIMIT_MS = 300_000;

/** Runs a program, and returns its output. Throws if it fails. */
async function output(command, args, input) {
  const { status, stdout, stderr } = await run(args, { command, input, hangMs: LIMIT_MS });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stderr || stdout}`);
  return stdout;
}

export const kubectl = (...args) => output('kubectl', args, '');
export const helm = (...args) => output('helm', args, '');
export const ctr = (...args) => output('ctr', args, '');

/** Creates or changes the objects of a manifest. */
export const applyText = (manifest) => output('kubectl', ['apply', '--filename=-'], manifest);

/** Creates or changes objects. */
export const apply = (...objects) => applyText(JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));

/** Creates or replaces a secret with these files. */
export const putSecret = (namespace, name, files, type = 'Opaque') =>
  apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace, name },
    type,
    data: Object.fromEntries(Object.entries(files).map(([key, bytes]) => [key, Buffer.from(bytes).toString('base64')])),
  });

/** Waits until the caller in a pod has ended, and returns its output. */
export async function outputOf(namespace, name) {
  const waited = ['wait', `pod/${name}`, `--namespace=${namespace}`, '--timeout=60s'];
  await kubectl(...waited, '--for=jsonpath={.status.phase}=Succeeded');
  return (await kubectl('logs', name, '--container=caller', `--namespace=${namespace}`)).trim();
}
