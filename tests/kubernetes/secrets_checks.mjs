// Replaces the files of secrets under load, as the page of the deployment describes it. No call fails, and no pod restarts.
// tests/kubernetes/run runs these tests on a node of their own. Each test continues where the one before ended.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Ending } from '../conformance/stacks.mjs';
import { makeAuthority } from '../end_to_end/certificates.mjs';
import { scratch } from '../end_to_end/harness.mjs';
import { keyText, publicKeyOf, stampKeyOf } from '../end_to_end/policy_callers.mjs';
import { until } from '../end_to_end/processes.mjs';
import { ORGANIZATION } from '../simulator/testing.mjs';
import { connectTo, presented } from './client.mjs';
import { Disruptions } from './disruptions.mjs';
import { CALLER, CONFIG, Installation, SECRET_MS, SERVER_NAME } from './installation.mjs';
import { kubectl, putSecret } from './kubectl.mjs';

/** So many submits in a row show which key the gateway uses. */
const SUBMITS = 25;

/** gRPC's code for a call that no grant allows. */
const PERMISSION_DENIED = 7;

const SERVER = { name: `DNS:${SERVER_NAME}` };
const WHOAMI = { organization_id: ORGANIZATION };
const RENAME = { organization_id: ORGANIZATION, parameters: { organization_name: 'renamed' } };

/** The gateway's container. After a restart, it is another one. */
const container = () =>
  kubectl(
    'get',
    'pod/stampgate-0',
    '--namespace=stampgate',
    '--output=jsonpath={.status.containerStatuses[0].containerID}',
  );

/** Waits until the kubelet has written these bytes to a file of a volume of a pod. */
async function mounted(namespace, pod, path, bytes) {
  const uid = await kubectl('get', `pod/${pod}`, `--namespace=${namespace}`, '--output=jsonpath={.metadata.uid}');
  const file = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~secret/${path}`;
  await until(() => readFileSync(file).equals(bytes), `the pod ${pod} has the new file`, SECRET_MS);
}

describe('changed secrets', () => {
  /** @type {Installation} */
  let installation;
  /** @type {Disruptions} */
  let disruptions;
  let begun;
  const ending = new Ending();

  before(async () => {
    installation = await Installation.prepare(ending, process.env.STAMPGATE_IMAGES);
    await installation.install();
    begun = await container();
    disruptions = await Disruptions.start(installation);
  });
  after(async () => {
    await disruptions?.end();
    await ending.end();
  });

  /** Changes a secret under load. Fails if a call fails or the gateway restarts. */
  async function change(t, name, step) {
    const { errors } = await disruptions.disrupt(t, name, step);
    assert.deepEqual(errors, []);
    assert.equal(await container(), begun);
  }

  test('a new API key signs, and the old one can be removed upstream', (t) =>
    change(t, 'new API key', async () => {
      const { simulator } = installation;
      await putSecret('stampgate', 'stampgate-keys', { 'main.key': keyText('other') });
      const submits = () => simulator.requests().filter(({ path }) => path.includes('/submit/'));
      const isUsed = () =>
        submits()
          .slice(-SUBMITS)
          .every((each) => stampKeyOf(each) === publicKeyOf('other'));
      await until(isUsed, 'the gateway uses the new key', SECRET_MS);
      simulator.service.state.credentialsByPublicKey.delete(publicKeyOf('main'));
    }));

  test('a new grant takes effect', async (t) => {
    const client = await connectTo(installation);
    const rename = () => client.call('OrganizationService/UpdateOrganizationName', RENAME);
    await assert.rejects(rename(), { code: PERMISSION_DENIED });
    await change(t, 'new grant', async () => {
      const [caller] = CONFIG.callers;
      const grants = [
        ...caller.grants,
        { methods: ['OrganizationService/UpdateOrganizationName'], all_organizations: true },
      ];
      await installation.install({ config: { ...CONFIG, callers: [{ ...caller, grants }] } });
      const isGranted = () => rename().then(Boolean, ({ code }) => code !== PERMISSION_DENIED);
      await until(isGranted, 'the gateway allows the call', SECRET_MS);
    });
    client.close();
  });

  test('a new authority replaces the old one, of which no certificate is accepted any more', async (t) => {
    const old = installation.caller;
    const authority = makeAuthority(scratch(ending), 'new');
    const added = readFileSync(authority.file);
    const both = Buffer.concat([old['ca.crt'], added]);
    const issue = (ca, options) => {
      const { cert, key } = authority.issue(options);
      return { 'tls.crt': cert, 'tls.key': key, 'ca.crt': ca };
    };
    const caller = issue(added, { name: `URI:${CALLER}`, usage: 'clientAuth' });
    const server = issue(added, SERVER);
    const isAccepted = async (pair) => {
      const client = await connectTo({ caller: { ...pair, 'ca.crt': both } });
      const isDone = await client.call('AuthenticationService/Whoami', WHOAMI).then(Boolean, () => false);
      client.close();
      return isDone;
    };
    assert.equal(await isAccepted(caller), false);

    await change(t, 'new authority: both', async () => {
      await putSecret('payments', 'caller', { ...old, 'ca.crt': both });
      await putSecret('stampgate', 'stampgate-tls', { ...installation.issue(SERVER), 'ca.crt': both });
      await until(() => isAccepted(caller), 'the gateway accepts the new authority', SECRET_MS);
      await mounted('payments', 'load', 'tls/ca.crt', both);
    });
    await change(t, 'new authority: certificates', async () => {
      await putSecret('payments', 'caller', { ...caller, 'ca.crt': both });
      await mounted('payments', 'load', 'tls/tls.crt', caller['tls.crt']);
      await putSecret('stampgate', 'stampgate-tls', { ...server, 'ca.crt': both });
      const { fingerprint256 } = new X509Certificate(server['tls.crt']);
      await until(async () => (await presented()) === fingerprint256, 'the new certificate is presented', SECRET_MS);
    });
    await change(t, 'new authority alone', async () => {
      await putSecret('stampgate', 'stampgate-tls', server);
      await until(async () => !(await isAccepted(old)), 'the gateway refuses the old authority', SECRET_MS);
    });
    assert.equal(await isAccepted(caller), true);
  });
});
