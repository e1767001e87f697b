import assert from "node:assert/strict"
import test from "node:test"
import { checkVersions, withVersion } from "./versions.mjs"

const manifest = (version) =>
  `{\n  "name": "@superstep/cli",\n  "version": "${version}",\n  "bin": {\n    "superstep": "bin/superstep.mjs"\n  },\n  "dependencies": {\n    "@superstep/toolkit": "${version}",\n    "commander": "0.1.0"\n  }\n}\n`
const lock = (version) => ({
  name: "superstep-repository",
  version,
  packages: {
    "": { version },
    cli: { version, dependencies: { "@superstep/toolkit": version, commander: "0.1.0" } },
    "node_modules/commander": { version: "0.1.0" },
    "node_modules/superstep": { resolved: "cli", link: true },
  },
})
const filesWith = (version) => [
  { path: "package.json", text: `{\n  "version": "${version}"\n}\n` },
  { path: "cli/package.json", text: manifest(version) },
  { path: "package-lock.json", text: `${JSON.stringify(lock(version), null, 2)}\n` },
  {
    path: "deploy/helm/superstep/Chart.yaml",
    text: `version: ${version}\nappVersion: ${version}\nkubeVersion: ">=1.25.0-0"\n`,
  },
  { path: "docs/kubernetes.md", text: `push images.example.com/superstep:${version}, on Kubernetes 0.1.0\n` },
]

test("a version is set in all files that name it, and in no version of other packages", () => {
  const examples = { path: "examples/chat/package.json", text: manifest("0.1.0") }

  const changed = withVersion([...filesWith("0.1.0"), examples], "0.2.0")

  assert.deepEqual(
    changed.map(({ path, text }) => ({ path, text })),
    filesWith("0.2.0"),
  )
})

test("npm run check names files whose version is another one", () => {
  const files = filesWith("0.2.0").map((file, index) =>
    index === 0 ? file : { ...file, text: filesWith("0.1.0")[index].text },
  )

  assert.deepEqual(checkVersions(filesWith("0.2.0")), [])
  assert.deepEqual(
    checkVersions(files).map(({ path }) => path),
    ["cli/package.json", "package-lock.json", "deploy/helm/superstep/Chart.yaml", "docs/kubernetes.md"],
  )
})
