/** A control plane in a pod of a real API server, with the files of a service account and the rights of the machine. */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { describeCluster } from "../machine.js"
import { clusterOfFile, newNamespace, noCluster as skip } from "../testing/place.js"
import { machineRules } from "../testing/rights.js"
import { pathsIn } from "./objects.js"
import { PodNotAdmitted } from "./own-pod.js"

const tested = clusterOfFile()

interface Opened {
  readonly labels: Readonly<Record<string, string>>
  /** Of the setting. */
  readonly podName?: string
  /** Of the machine in the namespace of the pod. */
  readonly rules?: typeof machineRules
  /** That of the pod when undefined. */
  readonly agentsNamespace?: string
  readonly edgeUrl?: string
}

/** @returns  what `superstep doctor` says in a pod with these labels; it opens the cluster as a start does */
async function openIn({ labels, podName = "superstep-control-0", rules, agentsNamespace, edgeUrl }: Opened) {
  const namespace = await newNamespace(tested(), {}, rules)
  const accountFolder = temporaryFolder()
  const files = { "ca.crt": tested().certificate, namespace, token: "machine-token" }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(accountFolder, name), content)
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  await until(async () => (await tested().admin.json(account, { also: [404] })).status === 200, {
    what: "the namespace is ready for pods",
  })
  const spec = { nodeName: "no-node", containers: [{ name: "control", image: "superstep" }] }
  const body = { metadata: { name: "superstep-control-0", labels }, spec }
  await tested().admin.json(pathsIn(namespace).pods, { method: "POST", body })
  const { hostname, port } = new URL(tested().machine.origin)
  return describeCluster(
    {
      accountFolder,
      namespace: agentsNamespace,
      podName,
      registry: `${tested().host}/agents`,
      registryLogin: undefined,
      pullSecret: undefined,
      baseImage: undefined,
      edgeUrl,
      edgePods: "",
      edgeAdminPort: 0,
      wakePort: 0,
      controlPods: "",
    },
    { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  )
}

const admitted = { "app.kubernetes.io/part-of": "superstep" }

test("a pod whose label the network policies of agents admit is accepted", { skip }, async () => {
  assert.match(await openIn({ labels: admitted }), /^Kubernetes v/)
})

test("a role that may not watch the pods of edges is reported, when edges are pods", { skip }, async () => {
  const rules = machineRules.map(({ verbs, ...rule }) => ({ ...rule, verbs: verbs.filter((it) => it !== "watch") }))
  const agentsNamespace = await newNamespace(tested())
  const inPod = { labels: admitted, rules, agentsNamespace }

  assert.match(await openIn(inPod), /^Kubernetes v/)
  await assert.rejects(openIn({ ...inPod, edgeUrl: "http://edges:8080" }), /the verb "watch" for pods/)
})

const refused = (opened: Promise<string>, words: RegExp) =>
  assert.rejects(opened, (error: Error) => error instanceof PodNotAdmitted && words.test(error.message))

test("a pod without that label is refused with the label, since agents would be unreachable without a word", {
  skip,
}, async () => {
  const label = /lacks the label app\.kubernetes\.io\/part-of: superstep.*add it to the template/
  await refused(openIn({ labels: {} }), label)
  await refused(openIn({ labels: { "app.kubernetes.io/part-of": "another" } }), label)
})

test("a pod that is not found by its name is refused with the setting that names it", { skip }, async () => {
  await refused(openIn({ labels: admitted, podName: "elsewhere" }), /^SUPERSTEP_POD_NAME: .* elsewhere/)
})
