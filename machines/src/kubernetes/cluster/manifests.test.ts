import assert from "node:assert/strict"
import test from "node:test"
import { Secret, secretsOf } from "@superstep/toolkit/config/settings"
import { serviceAddress } from "../../parts/units/unit-address.js"
import type { UnitSpec } from "../../port/port.js"
import { unitSpec } from "../../port/testing/unit-spec.js"
import { podOf, secretOf, serviceOf } from "./manifests.js"
import { type ContainerStatus, containerName, type Pod } from "./objects.js"
import { bytesOf, stateOf, whyPending } from "./pod-state.js"

const owner = { homeId: "home", namespace: "agents" }

const unit: UnitSpec = unitSpec({
  unitId: "u1",
  artifactId: "a1",
  secrets: secretsOf({ MODEL_KEY: "sk-hidden" }),
  limits: { memoryMb: 512, cpu: 0.5 },
})

const pod = (change: Partial<UnitSpec> = {}, environment: Record<string, string> = {}) =>
  podOf(
    { ...unit, ...change },
    { ...owner, serviceUid: "uid", image: "r/agents@sha256:1", pullSecret: undefined, environment },
  )

test("a pod meets the restricted security standard, and has no secret and no token of the cluster", () => {
  const { spec } = pod()

  assert.equal(spec.automountServiceAccountToken, false)
  assert.deepEqual(spec.securityContext, {
    runAsNonRoot: true,
    runAsUser: 200_077,
    runAsGroup: 200_077,
    fsGroup: 200_077,
    seccompProfile: { type: "RuntimeDefault" },
  })
  for (const { securityContext } of [...spec.containers, ...spec.initContainers])
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    })
  for (const secret of ["sk-hidden", "unit-token", "postgres://"]) assert.ok(!JSON.stringify(spec).includes(secret))
})

test("limits are those of the unit; memory is reserved, processor time is shared", () => {
  assert.deepEqual(pod().spec.containers[0]?.resources, {
    requests: { memory: "512Mi", cpu: "100m" },
    limits: { memory: "512Mi", cpu: "500m" },
  })
  const limits = { memoryMb: undefined, cpu: undefined }
  assert.deepEqual(pod({ limits, memoryMb: undefined }).spec.containers[0]?.resources, {
    requests: { memory: "256Mi", cpu: "100m" },
    limits: {},
  })
})

/** What a container gets: Kubernetes replaces references to variables, and `$$` by `$` (API reference, EnvVar). */
const expanded = (value: string): string =>
  value.replace(/\$\$|\$\(([^)]*)\)/g, (found, name) => (found === "$$" ? "$" : `<${name}>`))

test("a value that looks like a reference to a variable stays as it is", () => {
  for (const value of ["$(HOME) $5", "a$$b", "$$(A)", "$", "$$$"]) {
    const found = pod({}, { A: value }).spec.containers[0]?.env.find(({ name }) => name === "A")
    assert.equal(expanded(String(found && "value" in found && found.value)), value)
  }
})

test("all objects of a unit have its labels, and belong to its Service, which leads to its address", () => {
  const service = serviceOf(unit, owner)
  const secret = secretOf(unit, owner, { serviceUid: "uid", secrets: { KEY: new Secret("value") } })

  for (const { metadata } of [service, secret, pod()]) {
    assert.equal(metadata.labels["superstep/owner"], "home")
    assert.equal(metadata.labels["superstep/unit"], "u1")
  }
  for (const { metadata } of [secret, pod()]) {
    assert.equal(metadata.ownerReferences[0]?.uid, "uid")
    // Else `kubectl drain` refuses its node.
    assert.equal(metadata.ownerReferences[0]?.controller, true)
  }
  assert.equal(Buffer.from(secret.data["settings.json"], "base64").toString(), '{"KEY":"value"}')
  assert.equal(serviceAddress("u1", "agents"), "http://superstep-u1.agents.svc:8000")
})

const seen = (status: Pod["status"] & object, memory?: string): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "p" },
  spec: { containers: [{ name: containerName, ...(memory !== undefined && { resources: { limits: { memory } } }) }] },
  status,
})
const ended = (reason: string): ContainerStatus => ({
  name: containerName,
  state: { terminated: { exitCode: 137, reason } },
})

test("a pod's state is its unit's: not started, running, ended, or out of memory", () => {
  assert.equal(stateOf(seen({ phase: "Pending" })), undefined)
  assert.deepEqual(stateOf(seen({ phase: "Running" })), { state: "running" })
  assert.deepEqual(stateOf(seen({ phase: "Failed", reason: "Evicted" })), { state: "exited" })
  assert.deepEqual(stateOf(seen({ phase: "Running", containerStatuses: [ended("Error")] })), { state: "exited" })
  const out = seen({ phase: "Failed", containerStatuses: [ended("OOMKilled")] }, "512Mi")
  assert.deepEqual(stateOf(out), { state: "exited", ranOutOfMb: 512 })
})

test("why a pod has not started is told in the cluster's words", () => {
  const conditions = [{ type: "PodScheduled", status: "False", message: "0/1 nodes are available" }]
  const waiting = { reason: "ImagePullBackOff", message: "no such image" }

  assert.equal(whyPending(seen({ phase: "Pending", conditions })), "0/1 nodes are available")
  const pulls = seen({ phase: "Pending", containerStatuses: [{ name: containerName, state: { waiting } }] })
  assert.equal(whyPending(pulls), "ImagePullBackOff: no such image")
  assert.equal(whyPending(seen({ phase: "Pending" })), "no node has started it")
})

test("quantities of memory are read in all units that clusters write", () => {
  assert.deepEqual(["512Mi", "1Gi", "1500k", "64", "1.5Gi"].map(bytesOf), [2 ** 29, 2 ** 30, 1.5e6, 64, 1.5 * 2 ** 30])
  assert.equal(bytesOf("much"), undefined)
})
