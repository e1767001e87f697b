import assert from "node:assert/strict"
import { test } from "node:test"
import { parentOf, placeOf } from "./cgroup-place.js"

const mount = (root: string, at: string) => `30 24 0:26 ${root} ${at} rw,nosuid shared:4 - cgroup2 cgroup2 rw`
const v1 = "33 24 0:30 / /sys/fs/cgroup/memory rw shared:7 - cgroup cgroup rw,memory"

test("the control plane's own group is found where cgroup v2 is mounted, and the installation's is beside it", () => {
  const service = placeOf(mount("/", "/sys/fs/cgroup"), "0::/system.slice/superstep.service\n")
  const hybrid = placeOf(`${v1}\n${mount("/", "/sys/fs/cgroup/unified")}`, "4:memory:/a\n0::/\n")
  const container = placeOf(mount("/docker/1f", "/sys/fs/cgroup"), "0::/docker/1f\n")
  const inside = placeOf(mount("/docker/1f", "/sys/fs/cgroup"), "0::/docker/1f/main\n")
  const spaced = placeOf(mount("/", "/mnt/my\\040groups"), "0::/a/b\n")

  assert.deepEqual(service, { top: "/sys/fs/cgroup", own: "/sys/fs/cgroup/system.slice/superstep.service" })
  assert.equal(service && parentOf(service), "/sys/fs/cgroup/system.slice")
  assert.deepEqual(hybrid, { top: "/sys/fs/cgroup/unified", own: "/sys/fs/cgroup/unified" })
  assert.equal(hybrid && parentOf(hybrid), "/sys/fs/cgroup/unified")
  assert.deepEqual(container, { top: "/sys/fs/cgroup", own: "/sys/fs/cgroup" })
  assert.deepEqual(inside, { top: "/sys/fs/cgroup", own: "/sys/fs/cgroup/main" })
  assert.equal(spaced?.own, "/mnt/my groups/a/b")
})

test("without a visible cgroup v2 there is no place", () => {
  assert.equal(placeOf(v1, "4:memory:/a\n"), undefined)
  assert.equal(placeOf(v1, "0::/\n"), undefined)
  assert.equal(placeOf(mount("/", "/sys/fs/cgroup"), "4:memory:/a\n"), undefined)
  assert.equal(placeOf(mount("/", "/sys/fs/cgroup"), "0::/../other\n"), undefined)
  assert.equal(placeOf(mount("/..", "/sys/fs/cgroup"), "0::/\n"), undefined)
  assert.equal(placeOf(mount("/docker/1f", "/sys/fs/cgroup"), "0::/docker/1f2\n"), undefined)
})
