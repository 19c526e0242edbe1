// Reads requests as JSON from stdin, and prints the decision of each: Allowed, ImplicitlyDenied, ExplicitlyDenied, or
// the error in the request or in a policy. The argument is the folder that contains node_modules.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { runSimulation } = createRequire(`${process.argv[2]}/`)('@cloud-copilot/iam-simulate')
const ACCOUNT = '123456789012'

const decisions = []
for (const { role, policies, action, resource, context } of JSON.parse(readFileSync(0, 'utf8'))) {
  const result = await runSimulation(
    {
      request: {
        principal: `arn:aws:iam::${ACCOUNT}:role/${role}`,
        action,
        resource: { resource, accountId: ACCOUNT },
        contextVariables: context,
      },
      identityPolicies: policies.map((policy, index) => ({ name: `policy-${index}`, policy })),
      serviceControlPolicies: [],
      resourceControlPolicies: [],
    },
    {},
  )
  decisions.push(result.overallResult ?? result.analysis?.result ?? JSON.stringify(result))
}
console.log(JSON.stringify(decisions))
