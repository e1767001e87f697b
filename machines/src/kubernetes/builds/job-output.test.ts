/** Logs of builds, read from an API server that fails. */

import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { test } from "node:test"
import { lineWriter } from "@superstep/builder/job/job-log"
import { withoutOpenssl } from "@superstep/toolkit/testing/certificate"
import { fieldsOf } from "@superstep/toolkit/testing/fields-of"
import { clusterAt } from "../cluster/cluster.js"
import type { ContainerStatus, Pod } from "../cluster/objects.js"
import { httpsServerOfFile } from "../testing/https-server.js"
import { jobOutput } from "./job-output.js"

const skip = withoutOpenssl()
let answer: (response: ServerResponse) => void
const server = httpsServerOfFile((_, response) => answer(response))

const printed: string[] = []
const print = lineWriter(
  (line) => printed.push(line),
  (text) => text,
)
for (const text of ["npm ci", "no such package"]) print(text)

const outputOf = (state: NonNullable<ContainerStatus["state"]>) => {
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "build-x" },
    spec: { containers: [] },
    status: { initContainerStatuses: [{ name: "build", state }] },
  }
  return jobOutput(clusterAt(server), "/pods", async () => pod)
}
const failing = (status: number) => (response: ServerResponse) =>
  void response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify({ message: "no log" }))
const breaking = (response: ServerResponse) => {
  response.writeHead(200)
  response.write(printed[0], () => response.destroy())
}
const whole = (response: ServerResponse) => void response.writeHead(200).end(printed.join(""))

test("a log that breaks off, or that the server refuses, is unread and read again from the same place", {
  skip,
}, async () => {
  const output = outputOf({ terminated: { exitCode: 1 } })
  for (const [fails, why] of [
    [breaking, /broke off/],
    [failing(500), /\(500\): no log/],
    [failing(429), /\(429\)/],
  ] as const) {
    answer = fails
    const { unread, ...rest } = await output.logs("r1", 0)
    assert.deepEqual(rest, { lines: [], next: 0 })
    assert.match(unread ?? "", why)
  }

  answer = whole
  const { lines, next, unread } = await output.logs("r1", 0)

  assert.deepEqual(fieldsOf(lines, "message"), ["npm ci", "no such package"])
  assert.deepEqual([next, unread], [2, undefined])
})

test("a container that has not started has no log, and nothing of it is unread", { skip }, async () => {
  answer = failing(400)

  const found = await outputOf({ waiting: { reason: "PodInitializing" } }).logs("r1", 0)

  assert.deepEqual(found, { lines: [], next: 0 })
})
