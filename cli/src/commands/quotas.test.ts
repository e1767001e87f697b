import assert from "node:assert/strict"
import { test } from "node:test"
import { fakePlatform } from "../testing/fake-platform.js"

const quotas = { units: { limit: 5, used: 2, is_default: false }, cpu: { limit: 256, used: 2, is_default: true } }

test("quotas are shown with the workspace's key, and set with that of the installation", async () => {
  await using it = await fakePlatform(() => quotas)

  const shown = await it.run("quotas", "show")
  const numbers = "--units 5 --memory-mb default --builds 3 --disk-mb 900 --host-names 7".split(" ")
  const set = await it.run("quotas", "set", ...numbers, "--workspace", "w2", "--json")

  assert.match(shown.stdout, /units +2 +5 +set for this workspace\ncpu +2 +256 +default/)
  assert.equal(JSON.parse(set.stdout).units.limit, 5)
  const path = it.asked[0]?.path
  assert.deepEqual(it.asked, [
    { method: "GET", path, key: "of-w1", tenant: "w1", body: undefined },
    {
      method: "PATCH",
      path,
      key: "of-all",
      tenant: "w2",
      body: { units: 5, memory_mb: null, builds: 3, disk_mb: 900, host_names: 7 },
    },
  ])
})

test("quotas set requires at least one number", async () => {
  await using it = await fakePlatform(() => quotas)

  const none = await it.run("quotas", "set")
  const word = await it.run("quotas", "set", "--memory-mb", "much")

  assert.deepEqual([none.code, word.code, it.asked.length], [1, 1, 0])
  assert.match(none.stderr, /--deployments, --units, --memory-mb, --cpu, --builds, --disk-mb and --host-names/)
  assert.match(word.stderr, /--memory-mb must be a number or default, not much/)
})
