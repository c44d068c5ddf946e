// Tests the reader of upstream's crate.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { crateRelease, noCrate, npmRelease } from './pinned.mjs';
import { declarationsIn } from './rust.mjs';
import { operationsIn } from './rust_client.mjs';

describe('the reader of Rust', () => {
  test('reads the fields of structs, with the rules of their comments', () => {
    const { structs } = declarationsIn(`
      #[derive(Debug)] #[serde(rename_all = "camelCase")]
      /// A description, with a } brace.
      pub struct Tea {
        /// How hot it is: { or }.
        /// @inject_tag: validate:"required,min=1"
        #[serde(default)]
        pub r#type: ::std::collections::HashMap<String, ::std::vec::Vec<u8>>,
        pub(crate) cups: u32
      }
      pub struct Empty {}
      pub struct Nothing;`);
    assert.deepEqual(structs.get('Tea'), [
      { name: 'type', type: '::std::collections::HashMap<String,::std::vec::Vec<u8>>', rules: 'required,min=1' },
      { name: 'cups', type: 'u32', rules: undefined },
    ]);
    assert.deepEqual([structs.get('Empty'), structs.get('Nothing')], [[], []]);
  });

  test('reads the variants of enums in modules, with their types and texts', () => {
    const { enums } = declarationsIn(`
      use a::{b, c};
      pub mod tea {
        pub enum Leaf { #[serde(rename = "no")] Green = 0, BlackTea = 1, }
        impl Leaf {
          pub fn as_str_name(&self) -> &'static str {
            match self { Self::Green => "LEAF_GREEN", Self::BlackTea => { "LEAF_BLACK" } }
          }
          pub fn from_str_name(value: &str) -> Option<Self> {
            match value { "LEAF_GREEN" => Some(Self::Green), _ => None }
          }
        }
        pub enum Of { Pot(super::Pot), Bag(String), }
      }
      fn skipped(value: u8) -> u8 { value }
      pub struct Pot { pub size: i32, }`);
    assert.deepEqual(enums.get('tea::Leaf'), [
      { name: 'Green', type: undefined, text: 'LEAF_GREEN' },
      { name: 'BlackTea', type: undefined, text: 'LEAF_BLACK' },
    ]);
    assert.deepEqual(enums.get('tea::Of'), [
      { name: 'Pot', type: 'super::Pot' },
      { name: 'Bag', type: 'String' },
    ]);
  });

  test('refuses a text that ends too early', () => {
    assert.throws(() => declarationsIn('pub struct Tea { pub cups: u32,'), /ends within a declaration/);
  });
});

test("the reader of the client reads a query's and a submit's method", () => {
  const methods = `impl Client {
    pub async fn get_tea(
        &self,
        request: api::GetTeaRequest,
    ) -> Result<api::GetTeaResponse, Error> {
        self.process_request(&request, "/public/v1/query/get_tea".to_string()).await
    }
    pub async fn brew(&self, params: intents::BrewIntentV2) -> Result<Done<intents::BrewResult>, Error> {
        let request = Request {
            r#type: "ACTIVITY_TYPE_BREW_V2".to_string(),
            generate_app_proofs: self.generate_app_proofs(),
        };
        self.process_activity(&request, "/public/v1/submit/brew".to_string()).await?;
        match inner { intents::result::Inner::BrewResult(res) => res }
    }
}`;
  assert.deepEqual(
    [...operationsIn(methods)],
    [
      ['/public/v1/query/get_tea', { kind: 'query', request: 'api::GetTeaRequest', answer: 'api::GetTeaResponse' }],
      [
        '/public/v1/submit/brew',
        {
          ...{ kind: 'submit', type: 'ACTIVITY_TYPE_BREW_V2', parameters: 'intents::BrewIntentV2' },
          ...{ result: 'BrewResult', appProofs: true },
        },
      ],
    ],
  );
});

describe('the crate', { skip: noCrate }, () => {
  const { release, published } = noCrate ? {} : crateRelease();
  const members = (definition) => new Map(published.messages.get(definition).members.map((one) => [one.name, one]));

  test('is recognized, with its version', () => {
    assert.deepEqual(
      { ...release, integrity: '' },
      { source: 'crate', version: '0.17.1', day: '2026-10-30', integrity: '' },
    );
  });

  test('names every definition as the other sources do', () => {
    const npm = npmRelease().published;
    const missing = [...npm.messages.keys(), ...npm.enums.keys()].filter(
      (name) => !published.messages.has(name) && !published.enums.has(name),
    );
    // The crate names the requests of the internal operations too, of which npm has no client.
    assert.deepEqual(missing, [
      'v1DeleteVelocityControlIntent',
      'v1DeleteVelocityControlRequest',
      'v1DeleteVelocityControlResult',
      'v1NOOPCodegenAnchorResponse',
    ]);
  });

  test('has the operations of its client', () => {
    const paths = published.operations.map(({ path }) => path);
    assert.equal(paths.length, 193);
    assert.ok(paths.includes('/public/v1/submit/verify_wallet_authenticator'));
  });

  test('has the type and the parameters that a path accepts, also where the client sends an earlier type', () => {
    const request = members('v1EthSendTransactionRequest');
    assert.deepEqual(request.get('type').kind, { kind: 'literals', values: ['ACTIVITY_TYPE_ETH_SEND_TRANSACTION_V2'] });
    assert.deepEqual(request.get('parameters').kind, { kind: 'definition', name: 'v1EthSendTransactionIntentV2' });
  });

  test('states whether a member is required only where Rust or a rule does', () => {
    const withdraw = members('v1EarnWithdrawIntent');
    assert.equal(withdraw.get('caip2').required, true);
    assert.equal(members('v1SignRawPayloadIntentV2').get('externalSignerPubkey').required, false);
    assert.equal(members('v1User').get('walletAuthenticators').required, undefined);
  });

  test('has no value that stands for an absent one', () => {
    assert.deepEqual(published.enums.get('v1WalletAuthenticatorType').values, [
      'WALLET_AUTHENTICATOR_TYPE_ETHEREUM',
      'WALLET_AUTHENTICATOR_TYPE_SOLANA',
    ]);
  });
});
