import assert from "node:assert/strict"
import test from "node:test"
import { problemsOf } from "./packages.mjs"
import { provenanceOf } from "./provenance.mjs"
import { billOf } from "./software-bill.mjs"

const commit = "0123456789abcdef0123456789abcdef01234567"

test("packages for publishing are made only from the files of a tagged commit", () => {
  const release = { version: "1.2.3", commit, isTagged: true, changed: [] }

  assert.deepEqual(problemsOf(release), [])
  assert.match(problemsOf({ ...release, isTagged: false }).join(), /0123456789ab has no tag v1\.2\.3/)
  assert.match(
    problemsOf({ ...release, changed: [" M cli/src/main.ts"] }).join(),
    /not those of the commit.*\n M cli\/src/,
  )
})

test("the software bill names each package once, with the files that it is in, and no other package", () => {
  const component = (ref) => ({ "bom-ref": ref, type: "library", name: ref.split("@")[0], properties: [] })
  const all = {
    metadata: { timestamp: "now" },
    components: ["a@1", "b@2", "test-tool@3"].map(component),
    dependencies: [{ ref: "a@1", dependsOn: ["b@2", "test-tool@3"] }, { ref: "test-tool@3" }],
  }
  const lock = {
    packages: {
      "node_modules/a": { version: "1" },
      "node_modules/other-name": { name: "b", version: "2" },
      "node_modules/test-tool": { version: "3" },
    },
  }
  const contents = new Map([
    ["x.tgz", ["node_modules/a"]],
    ["x.whl", ["node_modules/a", "node_modules/other-name"]],
  ])
  const bill = billOf({ all, lock, version: "1.2.3", time: "2026-01-01T00:00:00.000Z", contents, base: "sha256:ab" })

  assert.deepEqual(
    bill.components.map((each) => [each["bom-ref"], (each.properties ?? []).map(({ value }) => value)]),
    [
      ["a@1", ["x.tgz", "x.whl"]],
      ["b@2", ["x.whl"]],
      ["base@sha256:ab", []],
    ],
  )
  assert.deepEqual(
    bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]),
    [
      ["superstep@1.2.3", ["a@1", "b@2", "base@sha256:ab"]],
      ["a@1", ["b@2"]],
    ],
  )
  assert.equal(bill.metadata.timestamp, "2026-01-01T00:00:00.000Z")
  assert.match(bill.serialNumber, /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
  const withUnknown = new Map([["x.tgz", ["node_modules/gone"]]])
  assert.throws(() => billOf({ all, lock, version: "1", time: "", contents: withUnknown }), /not in package-lock\.json/)
})

test("the provenance names the commit, and the tag only of a release", () => {
  const facts = { version: "1.2.3", commit, changed: [], versions: {}, subjects: [{ name: "a.tgz", sha256: "ff" }] }
  const tagOf = ({ predicate }) => predicate.buildDefinition.externalParameters.tag

  const released = provenanceOf({ ...facts, snapshot: false })

  assert.deepEqual(released.subject, [{ name: "a.tgz", digest: { sha256: "ff" } }])
  assert.deepEqual(released.predicate.buildDefinition.resolvedDependencies, [
    { name: "source", digest: { gitCommit: commit } },
  ])
  assert.deepEqual([tagOf(released), tagOf(provenanceOf({ ...facts, snapshot: true }))], ["v1.2.3", null])
})
