// Makes one call and prints the response or the error:
//
//   node deploy/call.mjs GATEWAY Service/Method [REQUEST]    REQUEST is the message as JSON
//
// Exit status: 0 OK, 1 the call failed, 2 the command line or the request is wrong and no call was made.
import { call, connect, methods, misspeltField } from '../tests/clients/gateway.mjs';
import { describeError, describeMessage } from './describe.mjs';

function refuse(why) {
  console.error(`call.mjs: ${why}\nusage: call.mjs GATEWAY Service/Method [REQUEST]`);
  process.exit(2);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    return refuse(`the request is not JSON: ${error.message}`);
  }
}

const [gateway, method, text = '{}'] = process.argv.slice(2);
if (!method) refuse('an argument is missing');
if (!methods.has(method)) refuse(`the API has no method ${method}`);
const request = parse(text);
const misspelt = misspeltField(method, request);
if (misspelt) refuse(`the request of ${method} has no field ${misspelt}`);

const client = connect(gateway);
try {
  console.log(describeMessage(await call(client, method, request)));
} catch (error) {
  console.error(describeError(error));
  process.exitCode = 1;
}
client.close();
