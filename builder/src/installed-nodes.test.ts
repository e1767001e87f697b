import assert from "node:assert/strict"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import test from "node:test"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { installedNodes } from "./installed-nodes.js"

/** Tests have no second Node: this program only reports another version. */
const addNode = (path: string, version: string): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `#!/bin/sh\necho ${version}\n`, { mode: 0o755 })
}

test("Nodes are found in the operator's folders and those of version managers, each once", async () => {
  const home = temporaryFolder()
  addNode(join(home, "one", "bin", "node"), "v24.1.0")
  addNode(join(home, ".nvm", "versions", "node", "v22.3.0", "bin", "node"), "v22.3.0")
  addNode(join(home, "fnm", "node-versions", "v23.0.0", "installation", "bin", "node"), "v23.0.0")
  mkdirSync(join(home, "broken", "bin"), { recursive: true })
  writeFileSync(join(home, "broken", "bin", "node"), "no program")
  symlinkSync(join(home, "one"), join(home, "same"))

  const { others } = installedNodes([join(home, "one"), home, join(home, "absent")], {
    HOME: home,
    FNM_DIR: join(home, "fnm"),
    N_PREFIX: home,
  })
  const found = await others(undefined)
  addNode(join(home, ".local/share/fnm/node-versions/v25.2.0/installation/bin/node"), "v25.2.0")
  const usual = await installedNodes([], { HOME: home }).others(undefined)

  assert.deepEqual(found.map(({ version }) => version).toSorted(), ["v22.3.0", "v23.0.0", "v24.1.0"])
  assert.ok(usual.some(({ version }) => version === "v25.2.0"))
})

test("a Node that the deployment's user cannot execute is not offered", async () => {
  const home = temporaryFolder()
  addNode(join(home, "v24.1.0", "bin", "node"), "v24.1.0")
  mkdirSync(join(home, "closed"), { mode: 0o700 })
  addNode(join(home, "closed", "v25.0.0", "bin", "node"), "v25.0.0")

  const { others } = installedNodes([home, join(home, "closed")], {})
  const versions = (await others({ uid: 300_001, gid: 200_001 })).map(({ version }) => version)

  assert.ok(!versions.includes("v25.0.0"))
  assert.ok((await others(undefined)).length > versions.length)
})
