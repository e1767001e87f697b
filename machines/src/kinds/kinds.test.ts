import assert from "node:assert/strict"
import test from "node:test"
import { kindNames, kinds, settingsOfNote } from "./kinds.js"

test("a note becomes the settings that lead to its machine, and leaves out those of other kinds", () => {
  const cluster = { kubeconfig: "/k", agentsNamespace: "agents" }

  assert.deepEqual(settingsOfNote({ machine: "process", engineSocket: "/e", ...cluster }), {
    SUPERSTEP_MACHINE: "process",
  })
  assert.deepEqual(settingsOfNote({ machine: "docker", engineSocket: "/e", ...cluster }), {
    SUPERSTEP_MACHINE: "docker",
    SUPERSTEP_DOCKER_SOCKET: "/e",
  })
  assert.deepEqual(settingsOfNote({ machine: "kubernetes", engineSocket: "/e", ...cluster }), {
    SUPERSTEP_MACHINE: "kubernetes",
    SUPERSTEP_KUBECONFIG: "/k",
    SUPERSTEP_KUBERNETES_NAMESPACE: "agents",
  })
})

test("a kind that is reached by settings has a place that may be away", () => {
  for (const name of kindNames) assert.equal(kinds[name].reachedBy.length > 0, kinds[name].place !== undefined, name)
})
