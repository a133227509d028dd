// The official Node clients against the mock; usage: NODE_PATH=… node official_clients.cjs TEST_BINARY.
const { spawn } = require('node:child_process');
const readline = require('node:readline');
const { Config } = require('@alicloud/openapi-client');
const ecs = require('@alicloud/ecs20140526');
const ram = require('@alicloud/ram20150501');

const REGION = 'cn-hangzhou';

async function main(binary) {
  const serving = spawn(binary, ['--ignored', '--exact', 'alibaba_mock::serves_the_clients_of_others', '--nocapture'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const known = await new Promise((resolve, reject) => {
    const lines = readline.createInterface({ input: serving.stdout });
    lines.on('line', (line) => {
      const at = line.indexOf('mock at ');
      if (at >= 0) resolve(JSON.parse(line.slice(at + 'mock at '.length)));
    });
    lines.on('close', () => reject(new Error('the mock did not start')));
  });
  const client = (kind, secret = known.secret) =>
    new kind.default(
      new Config({
        accessKeyId: known.key,
        accessKeySecret: secret,
        endpoint: known.address,
        protocol: 'HTTP',
        regionId: REGION,
      }),
    );
  const [machines, access] = [client(ecs), client(ram)];
  const wrong = [];
  const check = (what, isRight, found) => isRight || wrong.push(`${what}: ${JSON.stringify(found)}`);
  // What the models of the SDK make of the answers, page by page.
  let [seen, nextToken] = [[], undefined];
  do {
    const { body } = await machines.describeInstances(
      new ecs.DescribeInstancesRequest({ regionId: REGION, maxResults: 1, nextToken }),
    );
    seen = seen.concat(body.instances.instance.map((one) => one.instanceId));
    nextToken = body.nextToken;
  } while (nextToken);
  check('pages of instances', String(seen.sort()) === String([...known.instances].sort()), seen);
  const role = (await access.getRole(new ram.GetRoleRequest({ roleName: known.role }))).body.role;
  check('role', role.roleName === known.role && role.roleId && JSON.parse(role.assumeRolePolicyDocument), role);
  const held = (await access.listPoliciesForRole(new ram.ListPoliciesForRoleRequest({ roleName: known.role }))).body;
  check('policies of the role', held.policies.policy.length > 0, held);
  // A tag and a policy, made and taken back.
  const instance = { regionId: REGION, resourceType: 'instance', resourceId: known.instances.slice(0, 1) };
  const tag = new ecs.TagResourcesRequestTag({ key: 'ack.aliyun.com', value: 'c' });
  const tags = async () => {
    const instanceIds = JSON.stringify(instance.resourceId);
    const asked = new ecs.DescribeInstancesRequest({ regionId: REGION, instanceIds });
    return (await machines.describeInstances(asked)).body.instances.instance[0].tags.tag;
  };
  await machines.tagResources(new ecs.TagResourcesRequest({ ...instance, tag: [tag] }));
  const tagged = await tags();
  check('a tag', tagged.some((one) => one.tagKey === 'ack.aliyun.com' && one.tagValue === 'c'), tagged);
  await machines.untagResources(new ecs.UntagResourcesRequest({ ...instance, tagKey: ['ack.aliyun.com'] }));
  const untagged = await tags();
  check('no tag', !untagged.some((one) => one.tagKey === 'ack.aliyun.com'), untagged);
  const policyName = 'tagaudit-baseline-y';
  const policyDocument = JSON.stringify({
    Version: '1',
    Statement: [{ Effect: 'Allow', Action: ['ecs:DescribeInstances'], Resource: '*' }],
  });
  await access.createPolicy(new ram.CreatePolicyRequest({ policyName, policyDocument }));
  const made = (await access.getPolicy(new ram.GetPolicyRequest({ policyName, policyType: 'Custom' }))).body;
  check('a policy', made.defaultPolicyVersion.policyDocument === policyDocument, made);
  check('attached to nothing', made.policy.attachmentCount === 0, made.policy);
  await access.deletePolicy(new ram.DeletePolicyRequest({ policyName }));
  const refused = async (what, code, call) => {
    try {
      await call();
      wrong.push(`${what}: it was taken`);
    } catch (error) {
      check(what, String(error.code).includes(code), error.code);
    }
  };
  await refused('a policy that is gone', 'EntityNotExist.Policy', () =>
    access.getPolicy(new ram.GetPolicyRequest({ policyName, policyType: 'Custom' })),
  );
  await refused('a wrong secret', 'SignatureDoesNotMatch', () =>
    client(ecs, 'wrong').describeRegions(new ecs.DescribeRegionsRequest({})),
  );
  serving.stdin.end();
  await new Promise((resolve) => serving.on('exit', resolve));
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  console.log('official Node SDKs: pages, roles, tags and policies read and written');
}

main(process.argv[2]).then(
  () => process.exit(0),
  (error) => {
    console.error(String(error.message));
    process.exit(1);
  },
);
