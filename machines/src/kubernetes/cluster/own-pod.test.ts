/** A control plane in a pod of a real API server, with the files of a service account and the rights of the machine. */
import assert from "node:assert/strict"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { until } from "@superstep/toolkit/testing/until"
import { describeCluster } from "../machine.js"
import { newNamespace, noCluster as skip, type TestCluster, testCluster } from "../testing/place.js"
import { pathsIn } from "./objects.js"
import { PodNotAdmitted } from "./own-pod.js"

let tested: TestCluster

before(async () => {
  if (!skip) tested = await testCluster()
})
after(async () => {
  if (!skip) await tested.stop()
})

/** @returns  what `superstep doctor` says in a pod with these labels; it opens the cluster as a start does */
async function openIn(labels: Readonly<Record<string, string>>, podName = "superstep-control-0"): Promise<string> {
  const namespace = await newNamespace(tested)
  const accountFolder = temporaryFolder()
  const files = { "ca.crt": tested.certificate, namespace, token: "machine-token" }
  for (const [name, content] of Object.entries(files)) writeFileSync(join(accountFolder, name), content)
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/default`
  await until(async () => (await tested.admin.json(account, { also: [404] })).status === 200, {
    what: "the namespace is ready for pods",
  })
  const spec = { nodeName: "no-node", containers: [{ name: "control", image: "superstep" }] }
  const body = { metadata: { name: "superstep-control-0", labels }, spec }
  await tested.admin.json(pathsIn(namespace).pods, { method: "POST", body })
  const { hostname, port } = new URL(tested.machine.origin)
  return describeCluster(
    {
      accountFolder,
      podName,
      registry: `${tested.host}/agents`,
      registryLogin: undefined,
      pullSecret: undefined,
      baseImage: undefined,
      edgeUrl: undefined,
      edgePods: "",
      edgeAdminPort: 0,
      wakePort: 0,
      controlPods: "",
    },
    { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
  )
}

test("a pod whose label the network policies of agents admit is accepted", { skip }, async () => {
  assert.match(await openIn({ "app.kubernetes.io/part-of": "superstep" }), /^Kubernetes v/)
})

const refused = (opened: Promise<string>, words: RegExp) =>
  assert.rejects(opened, (error: Error) => error instanceof PodNotAdmitted && words.test(error.message))

test("a pod without that label is refused with the label, since agents would be unreachable without a word", {
  skip,
}, async () => {
  const label = /lacks the label app\.kubernetes\.io\/part-of: superstep.*add it to the template/
  await refused(openIn({}), label)
  await refused(openIn({ "app.kubernetes.io/part-of": "another" }), label)
})

test("a pod that is not found by its name is refused with the setting that names it", { skip }, async () => {
  await refused(openIn({ "app.kubernetes.io/part-of": "superstep" }, "elsewhere"), /^SUPERSTEP_POD_NAME: .* elsewhere/)
})
