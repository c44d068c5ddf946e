// Crashes of the programs in pods.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { until } from '../end_to_end/processes.mjs';
import { kubectl } from './kubectl.mjs';

/** Kills the first process of a pod's container, which is this program. The kernel kills the container's others. */
export function kill(pod, program) {
  const hostOf = (pid) => readFileSync(`/proc/${pid}/root/etc/hostname`, 'utf8').trim();
  const isFirst = (pid) => /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  const pids = execFileSync('pidof', [program], { encoding: 'utf8' }).trim().split(' ').map(Number);
  const [first] = pids.filter((pid) => isFirst(pid) && hostOf(pid) === pod);
  process.kill(first, 'SIGKILL');
}

/** Kills a gateway for the first time. Waits until the kubelet has started it again, and it is ready. */
export async function crash(pod) {
  const inGateways = '--namespace=stampgate';
  const restarts = '--output=jsonpath={.status.containerStatuses[0].restartCount}';
  kill(pod, 'stampgate');
  const isRestarted = async () => (await kubectl('get', `pod/${pod}`, inGateways, restarts)) === '1';
  await until(isRestarted, 'the kubelet restarts the container');
  await kubectl('wait', '--for=condition=Ready', `pod/${pod}`, inGateways, '--timeout=120s');
}
