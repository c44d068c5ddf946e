// Handles each kind of error of a submit.
//
//   node handle_errors.js GATEWAY ORGANIZATION NAME
import {
  ActivityFailed,
  ActivityPending,
  ActivityRejected,
  OutcomeUnknown,
  StampgateError,
  connect,
} from '@stampgate/client';
import { OrganizationService } from '@stampgate/client/v1';

const [address = '127.0.0.1:7443', organizationId = '11111111-2222-4333-8444-555555555555', organizationName = ''] =
  process.argv.slice(2);
const gateway = connect(address, { timeoutMs: 5_000 });
const rename = OrganizationService.method.updateOrganizationName;

try {
  await gateway.submit(rename, { organizationId, parameters: { organizationName } }, { wait: true });
  console.log('renamed');
} catch (error) {
  if (error instanceof ActivityPending) {
    const waitsFor = error.needsConsensus ? 'votes' : 'upstream';
    console.log(
      `activity ${error.activity.id} waits for ${waitsFor}: submit again with the same key, or read its events`,
    );
  } else if (error instanceof ActivityRejected) {
    console.log(`users rejected activity ${error.activity.id}`);
  } else if (error instanceof ActivityFailed) {
    console.log(`activity ${error.activity.id} failed: ${error.activity.failure?.message}`);
  } else if (error instanceof OutcomeUnknown) {
    console.log(`upstream may have acted: save the request, and submit it again with the key ${error.key}`);
  } else if (error instanceof StampgateError && error.reason === 'INVALID_REQUEST') {
    for (const { field, description } of error.violations) console.log(`${field}: ${description}`);
  } else if (error instanceof StampgateError && error.domain === 'upstream') {
    console.log(`upstream refused the request: ${error.reason}: ${error.message}`);
  } else if (error instanceof StampgateError) {
    console.log(`${error.codeName} ${error.reason}: ${error.message}; request id ${error.requestId}`);
  } else {
    throw error;
  }
  process.exitCode = 1;
}
gateway.close();
