// What many cases call.
import { ORGANIZATION, identifier } from '../../simulator/testing.mjs';

export const POLICY = identifier(6);

/** A query. */
export const query = {
  method: 'PolicyService/GetPolicy',
  request: { organization_id: ORGANIZATION, policy_id: POLICY },
};

/** A submit. */
export const rename = (organization_name = 'Renamed') => ({
  method: 'OrganizationService/UpdateOrganizationName',
  request: { organization_id: ORGANIZATION, parameters: { organization_name } },
});

/** The result of this submit. */
export const renamed = (organization_name = 'Renamed') => ({
  result: { update_organization_name_result: { organization_id: ORGANIZATION, organization_name } },
});

/** The last segments of the paths of the two. */
export const QUERIED = 'get_policy';
export const RENAMED = 'update_organization_name';
