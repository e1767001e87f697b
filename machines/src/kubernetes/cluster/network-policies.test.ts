import assert from "node:assert/strict"
import test from "node:test"
import { buildPoliciesOf, policyNames, unitPoliciesOf } from "./network-policies.js"
import { labels } from "./objects.js"

const owner = { homeId: "home", namespace: "agents" }
const selectorOf = (label: string) => ({
  matchLabels: { [labels.owner]: "home" },
  matchExpressions: [{ key: label, operator: "Exists" }],
})

test("only the platform's pods reach units, and units do not reach the credentials of the cloud", () => {
  const [egress, ingress] = unitPoliciesOf(owner, "platform").map(({ spec }) => JSON.stringify(spec))

  for (const spec of [egress, ingress]) assert.ok(spec?.includes(JSON.stringify(selectorOf(labels.unit))))
  assert.match(ingress ?? "", /"policyTypes":\["Ingress"\].*"kubernetes.io\/metadata.name":"platform"/)
  assert.match(egress ?? "", /"policyTypes":\["Egress"\].*169\.254\.169\.254/)
})

test("builds accept nobody, and reach no private address that is not named but the cluster's DNS", () => {
  const named = { ipBlock: { cidr: "10.20.0.0/16" } }
  const [egress, ingress] = buildPoliciesOf(owner, [named]).map(({ spec }) => spec)

  assert.deepEqual(ingress, { podSelector: selectorOf(labels.build), policyTypes: ["Ingress"], ingress: [] })
  const [dns, others] = (egress as { egress: { to: object[]; ports?: { port: number; protocol: string }[] }[] }).egress
  assert.deepEqual(dns?.to, [
    { namespaceSelector: {}, podSelector: { matchLabels: { "k8s-app": "kube-dns" } } },
    { ipBlock: { cidr: "169.254.20.10/32" } },
  ])
  const ports = dns?.ports?.map(({ port, protocol }) => `${port} ${protocol}`)
  assert.deepEqual(ports, ["53 UDP", "53 TCP", "5353 UDP", "5353 TCP"])
  assert.deepEqual(others?.to.at(-1), named)
  assert.match(JSON.stringify(others?.to[0]), /"10\.0\.0\.0\/8","172\.16\.0\.0\/12","192\.168\.0\.0\/16"/)
})

test("an installation removes all its policies by their names", () => {
  const all = [...unitPoliciesOf(owner, "platform"), ...buildPoliciesOf(owner, [])]

  const names = all.map(({ metadata }) => metadata.name)
  assert.deepEqual(policyNames("home"), names)
})
