import assert from "node:assert/strict"
import { test } from "node:test"
import { portServer } from "@superstep/toolkit/testing/http-server"
import { platformApi } from "./api.js"
import { NotRestarted, untilRestarted } from "./restart.js"

interface Look {
  readonly is_restarting: boolean
  readonly health: string | null
}

/** Answers reads of a deployment with these looks, or as a platform that is restarted does, and then with the last one. */
async function platformThatShows(...looks: readonly [Look, ...(Look | "not ready" | "cut")[]]) {
  let next = 0
  const server = await portServer((_, response) => {
    const look = looks[Math.min(next, looks.length - 1)]
    next += 1
    if (look === "not ready") return void response.writeHead(503).end("{}")
    if (look === "cut")
      return void response.writeHead(200, { "content-length": "9" }).write("{", () => response.destroy())
    response.end(JSON.stringify({ id: "d1", name: "my-agent", ...look }))
  })
  return {
    ...server,
    api: platformApi({ url: server.origin, apiKey: "k", workspaceId: "w" }),
    looked: () => next,
  }
}

const deployment = { id: "d1", name: "my-agent" }
const during = { is_restarting: true, health: "healthy" }

test("a restart has ended when every agent server was replaced and the deployment answers", async () => {
  using platform = await platformThatShows(
    during,
    "not ready",
    "cut",
    { is_restarting: false, health: "starting" },
    { is_restarting: false, health: "healthy" },
  )

  const { health } = await untilRestarted(platform.api, deployment)

  assert.deepEqual([health, platform.looked()], ["healthy", 5])
})

test("a sleeping deployment is not waited for, since its next request starts it", async () => {
  using platform = await platformThatShows({ is_restarting: false, health: "asleep" })

  assert.equal((await untilRestarted(platform.api, deployment)).health, "asleep")
})

const failures: readonly (readonly [string, Look, RegExp])[] = [
  [
    "crashes",
    { is_restarting: false, health: "crashing" },
    /crashes after its restart: superstep logs my-agent shows why/,
  ],
  ["does not answer in time", { is_restarting: false, health: "down" }, /does not answer .* after its restart/],
  ["is paused meanwhile", { is_restarting: false, health: "paused" }, /is not serving any more/],
]
for (const [what, look, words] of failures) {
  test(`a restart after which the deployment ${what} has failed`, async () => {
    using platform = await platformThatShows(during, look)

    const restarted = untilRestarted(platform.api, deployment, 1)

    await assert.rejects(restarted, (error) => error instanceof NotRestarted && words.test(error.message))
  })
}
