import assert from 'node:assert/strict';
import { test } from 'node:test';
import { npmRelease, pythonRelease } from './pinned.mjs';
import { readPython } from './python.mjs';

const types = `
class TurnkeyBaseModel(BaseModel):
    model_config = ConfigDict(populate_by_name=True)


class protobufAny(TurnkeyBaseModel):
    type: Optional[str] = Field(default=None, alias="@type")


class v1Colour(str, Enum):
    COLOUR_RED = "COLOUR_RED"
    COLOUR_BLUE = (
        "COLOUR_BLUE"
    )


class v1MakeIntentV2(TurnkeyBaseModel):
    name: str = Field(description="A name. Not \\"alias=\\"no\\"\\", and optional: Optional[str] = 3.")
    colours: Optional[List[v1Colour]] = Field(default=None)
    source: Optional[
        str
    ] = Field(
        default=None,
        alias="from",
    )
    size: int
    anything: Dict[str, Any] = Field(description='Any "object"')


class v1Nothing(TurnkeyBaseModel):
    pass


class v1MakeRequest(TurnkeyBaseModel):
    type: str
    parameters: v1MakeIntentV2


class v1GetThingRequest(TurnkeyBaseModel):
    organizationId: str


class v1ThingResponse(TurnkeyBaseModel):
    things: List[v1Colour]


class GetThingResponse(TurnkeyBaseModel):
    things: List[v1Colour]


class MakeResponse(TurnkeyBaseModel):
    made: bool
`;

const client = `
class TurnkeyClient:
    def get_thing(
        self, input: GetThingBody
    ) -> GetThingResponse:
        return self._request("/public/v1/query/list_things", body, GetThingResponse)

    def stamp_get_thing(self, input: GetThingBody) -> SignedRequest:
        full_url = self.base_url + "/public/v1/query/list_things"

    def make(self, input: MakeBody) -> MakeResponse:
        body = {
            "parameters": input_dict,
            "type": "ACTIVITY_TYPE_MAKE",
        }
        return self._activity("/public/v1/submit/make", body, "makeResult", MakeResponse)
`;

test('reads members with their kinds, their names in JSON, and whether they are required', () => {
  const { messages, enums, aliases } = readPython(types, client);
  assert.deepEqual(messages.get('v1MakeIntentV2').members, [
    { name: 'name', required: true, kind: { kind: 'string' } },
    { name: 'colours', required: false, kind: { kind: 'list', of: { kind: 'definition', name: 'v1Colour' } } },
    { name: 'from', required: false, kind: { kind: 'string' } },
    { name: 'size', required: true, kind: { kind: 'number', format: 'unstated' } },
    { name: 'anything', required: true, kind: { kind: 'json' } },
  ]);
  assert.deepEqual(messages.get('v1Nothing').members, []);
  assert.deepEqual([...enums], [['v1Colour', { values: ['COLOUR_RED', 'COLOUR_BLUE'] }]]);
  assert.deepEqual([...aliases], [['protobufAny', { kind: 'json' }]]);
});

test('reads the operations of the client, with the definition of each answer', () => {
  assert.deepEqual(readPython(types, client).operations, [
    { path: '/public/v1/query/list_things', request: 'v1GetThingRequest', response: 'v1ThingResponse' },
    { path: '/public/v1/submit/make', request: 'v1MakeRequest', response: 'v1ActivityResponse' },
  ]);
});

test('an activity type has the version of the parameters, also where the client sends an earlier one', () => {
  const [type] = readPython(types, client).messages.get('v1MakeRequest').members;
  assert.deepEqual(type.kind, { kind: 'literals', values: ['ACTIVITY_TYPE_MAKE_V2'] });
});

test('a type, a base class or an answer that the reader does not know is an error that names it', () => {
  const change = (/** @type {string} */ from, /** @type {string} */ to) => () =>
    readPython(types.replace(from, to), client);
  assert.throws(change('size: int', 'size: float'), /v1MakeIntentV2.size: .* the type float/);
  assert.throws(change('v1Nothing(TurnkeyBaseModel)', 'v1Nothing(Other)'), /v1Nothing: .* the base class Other/);
  assert.throws(
    change('class v1ThingResponse', 'class v1Thing'),
    /the response GetThingResponse is not one definition/,
  );
});

test("the packages have npm's definitions, and the operations that are newer than npm's", () => {
  const { release, published } = pythonRelease();
  assert.deepEqual(
    { ...release, integrity: '' },
    { source: 'python', version: '0.2.1', day: '2026-10-21', integrity: '' },
  );
  const npm = npmRelease().published;
  const paths = new Map(published.operations.map((operation) => [operation.path, operation]));
  assert.equal(paths.size, 188);
  for (const operation of npm.operations) {
    if (paths.has(operation.path)) assert.deepEqual(paths.get(operation.path), operation);
  }
  const known = new Set(npm.operations.map(({ path }) => path));
  assert.deepEqual(
    [...paths.keys()].filter((path) => !known.has(path)),
    [
      '/public/v1/query/get_swap_sponsorship_usage',
      '/public/v1/submit/upsert_swap_fee_sponsorship_limit_config',
      '/public/v1/submit/upsert_swap_fixed_rate_limit_config',
    ],
  );
});
