/**
 * The chart on a real API server: helm installs it, upgrades it and removes it. No node runs here, so no pod starts; what is checked is what the
 * server accepts, and what our pods may do.
 */
import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { after, before } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { until } from "@superstep/toolkit/testing/until"
import type { KubernetesObject } from "./cluster/objects.js"
import { noKubernetes, type RealCluster, realCluster } from "./testing/real-cluster.js"
import { machineRules } from "./testing/rights.js"

const helm = process.env.SUPERSTEP_TEST_HELM
const skip = noKubernetes || (helm === undefined && "needs SUPERSTEP_TEST_HELM, which .ci/chart builds")
const test = testUnless(skip)
const chart = fileURLToPath(new URL("../../../deploy/helm/superstep", import.meta.url))
const run = promisify(execFile)

let cluster: RealCluster

before(async () => {
  if (skip) return
  cluster = await realCluster()
})
after(async () => {
  if (!skip) await cluster.stop()
})

const helmDoes = (namespace: string, ...args: string[]) =>
  run(helm ?? "", [...args, "--namespace", namespace, "--kubeconfig", cluster.adminKubeconfig], { cwd: chart })

const list = async <T extends KubernetesObject>(path: string): Promise<readonly T[]> =>
  (await cluster.admin.json<{ readonly items: readonly T[] }>(path)).body.items

interface Workload extends KubernetesObject {
  readonly spec: { readonly template: { readonly metadata: object; readonly spec: object } }
}

/** The pods of a release, accepted where only restricted pods are. */
async function acceptPods(namespace: string): Promise<readonly string[]> {
  const kinds = ["deployments", "statefulsets"]
  const found = await Promise.all(kinds.map((kind) => list<Workload>(`/apis/apps/v1/namespaces/${namespace}/${kind}`)))
  for (const { metadata, spec } of found.flat()) {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      ...spec.template,
      metadata: { ...spec.template.metadata, name: metadata.name },
    }
    const query = { dryRun: "All", fieldValidation: "Strict" }
    await cluster.admin.json(`/api/v1/namespaces/${namespace}/pods`, { method: "POST", query, body: pod })
  }
  return found
    .flat()
    .map(({ metadata }) => metadata.name)
    .toSorted()
}

/** With labels that make the server refuse every pod with more rights than necessary. */
async function createNamespace(name: string): Promise<void> {
  const labels = { "pod-security.kubernetes.io/enforce": "restricted" }
  const body = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } }
  await cluster.admin.json("/api/v1/namespaces", { method: "POST", body })
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`
  await until(async () => (await cluster.admin.json(account, { also: [404] })).status === 200, {
    what: "the namespace is ready for pods",
  })
}

test("a cluster takes the chart with the least values, and its pods where only restricted ones are allowed", async () => {
  await createNamespace("superstep")
  await helmDoes("superstep", "install", "superstep", ".", "--values", "ci/least-values.yaml")

  assert.deepEqual(await acceptPods("superstep"), ["superstep-control", "superstep-edge"])
  const namespaces = await list("/api/v1/namespaces")
  assert.ok(namespaces.some(({ metadata }) => metadata.name === "superstep-agents"))
})

test("the control plane has the machine's rights among agents, and may list pods beside it and label its own; edges may do nothing", async () => {
  const roles = await list<KubernetesObject & { readonly rules: unknown }>(
    "/apis/rbac.authorization.k8s.io/v1/namespaces/superstep-agents/roles",
  )
  assert.deepEqual(roles.find(({ metadata }) => metadata.name === "superstep-agents")?.rules, machineRules)

  const may = async (account: string, ...[namespace, verb, resource, name]: readonly string[]) => {
    const spec = {
      user: `system:serviceaccount:superstep:${account}`,
      groups: ["system:serviceaccounts", "system:serviceaccounts:superstep", "system:authenticated"],
      resourceAttributes: { namespace, verb, resource, name },
    }
    const { body } = await cluster.admin.json<{ readonly status: { readonly allowed: boolean } }>(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      { method: "POST", body: { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec } },
    )
    return body.status.allowed
  }
  for (const [isAllowed, account, ...what] of [
    [true, "control", "superstep-agents", "create", "pods"],
    [true, "control", "superstep", "list", "pods"],
    [false, "control", "superstep", "get", "secrets"],
    [false, "control", "superstep", "create", "pods"],
    [true, "control", "superstep", "patch", "pods", "superstep-control-0"],
    [true, "control", "superstep", "patch", "pods", "superstep-control-1"],
    [false, "control", "superstep", "patch", "pods", "superstep-edge-0"],
    [false, "control", "superstep", "patch", "pods"],
    [false, "control", "default", "list", "pods"],
    [false, "edge", "superstep", "list", "pods"],
    [false, "edge", "superstep-agents", "list", "pods"],
  ] as const)
    assert.equal(await may(`superstep-${account}`, ...what), isAllowed, `${account}: ${what.join(" ")}`)
})

test("an upgrade with other values is accepted, and an uninstall leaves nothing", async () => {
  const values = ["--values", "ci/least-values.yaml", "--set", "edge.replicas=3"]
  await helmDoes("superstep", "upgrade", "superstep", ".", ...values)
  await helmDoes("superstep", "uninstall", "superstep")

  const kinds = [
    ["api/v1", "services", "serviceaccounts", "secrets", "persistentvolumeclaims"],
    ["apis/apps/v1", "deployments", "statefulsets"],
    ["apis/policy/v1", "poddisruptionbudgets"],
    ["apis/networking.k8s.io/v1", "networkpolicies", "ingresses"],
    ["apis/rbac.authorization.k8s.io/v1", "roles", "rolebindings"],
  ]
  for (const [group, ...names] of kinds)
    for (const name of names) {
      const isLeft = async () =>
        (await list(`/${group}/namespaces/superstep/${name}`)).some(({ metadata }) => metadata.name !== "default")
      await until(async () => !(await isLeft()), { what: `no ${name} of the chart is left` })
    }
  await until(
    async () => (await list("/api/v1/namespaces")).every(({ metadata }) => metadata.name !== "superstep-agents"),
    { what: "the namespace of agents is gone" },
  )
})

test("a cluster takes the chart with all its values, in a namespace of agents that somebody else made", async () => {
  for (const name of ["platform", "agents"]) await createNamespace(name)
  await helmDoes("platform", "install", "superstep", ".", "--values", "ci/all-values.yaml")

  assert.deepEqual(await acceptPods("platform"), ["superstep-control", "superstep-edge"])
  await helmDoes("platform", "uninstall", "superstep")
  const namespaces = await list("/api/v1/namespaces")
  assert.ok(namespaces.some(({ metadata }) => metadata.name === "agents"))
})
