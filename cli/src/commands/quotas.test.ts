import assert from "node:assert/strict"
import { test } from "node:test"
import { listen } from "@superstep/toolkit/http/listen"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { writeCredentials } from "../home/credentials.js"
import { homeAt } from "../home/home.js"
import { runCli } from "../testing/run-cli.js"

/** A control plane that keeps what it is asked, and a data folder whose keys are for it. */
async function platform() {
  const asked: { method: string; key: string | null; tenant: string | null; body: unknown }[] = []
  const reply = { units: { limit: 5, used: 2, is_default: false }, cpu: { limit: 256, used: 2, is_default: true } }
  const answer = async (request: Request) => {
    const { method, headers } = request
    const text = await request.text()
    const [key, tenant] = [headers.get("x-api-key"), headers.get("x-tenant-id")]
    asked.push({ method, key, tenant, body: text === "" ? undefined : JSON.parse(text) })
    return Response.json(reply)
  }
  const listening = await listen(answer, { host: "127.0.0.1", port: 0 })
  const home = temporaryFolder()
  const url = `http://127.0.0.1:${listening.port}`
  await writeCredentials(homeAt(home), { url, tenant_id: "w1", api_key: "of-w1", org_api_key: "of-all" })
  const run = (...args: string[]) => runCli(["quotas", ...args, "--home", home], { cwd: home })
  return { asked, run, [Symbol.asyncDispose]: () => listening.close(0) }
}

test("quotas are shown with the workspace's key, and set with that of the installation", async () => {
  await using it = await platform()

  const shown = await it.run("show")
  const set = await it.run(
    "set",
    "--units",
    "5",
    "--memory-mb",
    "default",
    "--builds",
    "3",
    "--disk-mb",
    "900",
    "--host-names",
    "7",
    "--workspace",
    "w2",
    "--json",
  )

  assert.match(shown.stdout, /units +2 +5 +set for this workspace\ncpu +2 +256 +default/)
  assert.equal(JSON.parse(set.stdout).units.limit, 5)
  assert.deepEqual(it.asked, [
    { method: "GET", key: "of-w1", tenant: "w1", body: undefined },
    {
      method: "PATCH",
      key: "of-all",
      tenant: "w2",
      body: { units: 5, memory_mb: null, builds: 3, disk_mb: 900, host_names: 7 },
    },
  ])
})

test("quotas set requires at least one number", async () => {
  await using it = await platform()

  const none = await it.run("set")
  const word = await it.run("set", "--memory-mb", "much")

  assert.deepEqual([none.code, word.code, it.asked.length], [1, 1, 0])
  assert.match(none.stderr, /--deployments, --units, --memory-mb, --cpu, --builds, --disk-mb and --host-names/)
  assert.match(word.stderr, /--memory-mb must be a number or default, not much/)
})
