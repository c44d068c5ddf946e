// Creates a policy at most once, also if this program is started again after it has crashed.
//
//   node submit_safely.ts GATEWAY ORGANIZATION RECORD
import { connect } from '@stampgate/client';
import { Effect, PolicyService } from '@stampgate/client/v1';

const [address = '127.0.0.1:7443', organizationId = '11111111-2222-4333-8444-555555555555', record = 'policy-4711'] =
  process.argv.slice(2);
const gateway = connect(address);

// The key names the record for which the program acts, and not the try: a later start of the program repeats the submit.
const result = await gateway.submit(
  PolicyService.method.createPolicies,
  {
    organizationId,
    parameters: { policies: [{ policyName: 'two of three', effect: Effect.ALLOW, notes: '' }] },
  },
  { key: record, wait: true },
);
if (result.case === 'createPoliciesResult') console.log(result.value.policyIds);
gateway.close();
