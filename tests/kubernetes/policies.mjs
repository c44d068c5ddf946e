// What network policies allow a pod.
import assert from 'node:assert/strict';
import { apply, kubectl, outputOf } from './kubectl.mjs';
import { callerPod } from './pods.mjs';

/** Runs the caller in a pod with these labels, and compares what it prints. The pod has the name of the test. */
export async function tryPolicies(name, namespace, labels, args, expected) {
  const pod = name.replaceAll(' ', '-').toLowerCase();
  await apply(callerPod(namespace, pod, args, { labels }));
  assert.match(await outputOf(namespace, pod), expected);
  await kubectl('delete', `pod/${pod}`, `--namespace=${namespace}`);
}
