// Creates a policy, and handles each kind of error. Without a NAME, it shows the error of a faulty request.
//
//   node handle_errors.ts GATEWAY ORGANIZATION NAME
import {
  ActivityFailed,
  ActivityPending,
  ActivityRejected,
  OutcomeUnknown,
  StampgateError,
  connect,
} from '@stampgate/client';
import { Effect, PolicyService } from '@stampgate/client/v1';

const [address = '127.0.0.1:7443', organizationId = '11111111-2222-4333-8444-555555555555', policyName = ''] =
  process.argv.slice(2);
const gateway = connect(address, { timeoutMs: 5_000 });
const parameters = { policies: [{ policyName, effect: Effect.ALLOW, notes: '' }] };

try {
  const result = await gateway.submit(PolicyService.method.createPolicies, { organizationId, parameters });
  if (result.case === 'createPoliciesResult') console.log(`created ${result.value.policyIds.join(', ')}`);
} catch (error) {
  if (error instanceof OutcomeUnknown) {
    // Do not forget this error: upstream may have acted. Save error.request, and submit it again: it never acts twice.
    console.log(`upstream may have acted: submit the request with the key ${error.key} again: ${error.last.message}`);
  } else if (error instanceof ActivityPending) {
    // Submit again with the same key and `wait`, or read the events.
    const waitsFor = error.needsConsensus ? 'votes' : 'upstream';
    console.log(`activity ${error.activity.id} waits for ${waitsFor}`);
  } else if (error instanceof ActivityRejected) {
    console.log(`users rejected activity ${error.activity.id}`);
  } else if (error instanceof ActivityFailed) {
    console.log(`activity ${error.activity.id} failed: ${error.activity.failure?.message}`);
  } else if (error instanceof StampgateError) {
    // The gateway or upstream refused the request, or it was never sent.
    const { codeName, reason, violations, message } = error;
    const kind = reason === '' ? codeName : `${codeName} ${reason}`; // a failed connection has no reason
    for (const { field, description } of violations) console.log(`${kind}: ${field}: ${description}`);
    if (violations.length === 0) console.log(`${kind}: ${message}`);
  } else {
    throw error;
  }
  process.exitCode = 1;
}
gateway.close();
