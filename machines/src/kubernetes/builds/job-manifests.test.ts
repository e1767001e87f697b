import assert from "node:assert/strict"
import test from "node:test"
import { limits } from "@superstep/builder/testing/build"
import { buildSecretOf, jobOf } from "./job-manifests.js"
import { jobRequest } from "./job-request.js"

const source = {
  revisionId: "01a217c3-8fce-734a-b276-88dbc8d8ec32",
  deploymentId: "d1",
  deploymentNumber: 7,
  treeHash: "a",
  configPath: "langgraph.json",
  installCommand: null,
  buildCommand: null,
}
const step = (name: "install" | "build") => ({ name, argv: ["true"], folder: "", isRepeatable: false }) as const
const request = jobRequest(
  source,
  {
    plan: {
      steps: [
        { ...step("install"), failure: "install_failed" },
        { ...step("build"), failure: "build_command_failed" },
      ],
    },
    choice: { node: { path: "/usr/local/bin/node", version: "v20.20.2" }, note: undefined },
    platform: "node v20.20.2 linux x64",
    artifactId: "a1",
    env: {},
  },
  {
    limits,
    environment: { npm_config_registry: "https://npm.example.com", NODE_EXTRA_CA_CERTS: "/etc/ssl/ca.pem" },
    verifyEntry: "/v.js",
    verifyPython: "/v.py",
  },
)
const owner = { homeId: "home", namespace: "agents" }
const { metadata, spec } = jobOf(source, request, {
  ...owner,
  image: "i@sha256:1",
  artifactId: "a1",
  pullSecret: "pull",
})
const pod = spec.template.spec

test("each container sees its own part of the Secret: commands no variables, and only what sends has the login", () => {
  const secretsOf = (name: string) => {
    const container = [...pod.initContainers, ...pod.containers].find((it) => it.name === name)
    const volumes = container?.volumeMounts.flatMap((mount) => pod.volumes.filter((it) => it.name === mount.name)) ?? []
    return volumes.flatMap((volume) => ("secret" in volume ? volume.secret.items.map(({ key }) => key) : []))
  }

  assert.deepEqual(secretsOf("build"), ["request.json"])
  assert.deepEqual(secretsOf("verify"), ["request.json", "variables.json"])
  assert.deepEqual(secretsOf("push"), ["sending.json", "config.json"])
  assert.equal(pod.automountServiceAccountToken, false)
})

test("the container that sends the result trusts the operator's certificate authorities", () => {
  const senders = pod.containers.map(({ name, env }) => ({ name, env }))
  assert.deepEqual(senders, [{ name: "push", env: [{ name: "NODE_EXTRA_CA_CERTS", value: "/etc/ssl/ca.pem" }] }])
})

test("a Job is not repeated by the cluster, ends after all limits of its steps, and goes some time after its end", () => {
  assert.equal(spec.backoffLimit, 0)
  assert.ok(spec.activeDeadlineSeconds * 1000 > limits.installMs + limits.buildMs + limits.verifyMs)
  assert.ok(spec.ttlSecondsAfterFinished > 0)
  assert.ok(metadata.name.length <= 63, "it is a label of the pod")
  for (const { resources } of pod.initContainers) assert.equal(resources.limits.memory, `${limits.memoryMb + 256}Mi`)
})

test("a build reserves the disk that it may use, and has one limit for all its volumes", () => {
  const disk = `${limits.diskMb + 1024}Mi`

  for (const { resources } of [...pod.initContainers, ...pod.containers]) {
    assert.equal(resources.requests["ephemeral-storage"], disk)
    assert.equal(resources.limits["ephemeral-storage"], disk)
  }
  const volumes = pod.volumes.flatMap((it) => ("emptyDir" in it ? it.emptyDir : []))
  assert.deepEqual(volumes, [{}, {}, {}])
})

test("a build's Secret goes with its Job", () => {
  const { metadata: of } = buildSecretOf(source, owner, { files: {}, jobUid: "u1" })

  assert.deepEqual(of.ownerReferences, [{ apiVersion: "batch/v1", kind: "Job", name: metadata.name, uid: "u1" }])
})
