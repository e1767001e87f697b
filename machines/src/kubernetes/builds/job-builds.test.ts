/** Builds as Jobs of a real API server, with its controllers; the node is played by the test. */
import assert from "node:assert/strict"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { layoutIn } from "@superstep/oci/layout"
import { registryAt } from "@superstep/oci/registry/client"
import { Secret } from "@superstep/toolkit/config/settings"
import { temporaryFolder } from "@superstep/toolkit/testing/temporary-folder"
import { testUnless } from "@superstep/toolkit/testing/test-unless"
import { until } from "@superstep/toolkit/testing/until"
import { v7 as newId } from "uuid"
import type { BuildSource, Machine } from "../../port/port.js"
import { firstUser, noRights, runAs } from "../cluster/manifests.js"
import { baseName, type KubernetesObject, labels, type Pod, pathsIn } from "../cluster/objects.js"
import { ownedObjects } from "../cluster/owned-objects.js"
import { buildsPlace, registryPassword } from "../testing/builds-place.js"
import { clusterOfFile, noCluster } from "../testing/place.js"
import { requestsSeen } from "../testing/requests-seen.js"

const test = testUnless(noCluster)
const tested = clusterOfFile()

const variable = "value-of-a-variable"
const secrets = { MODEL_KEY: new Secret(variable) }

const javascript = {
  "langgraph.json": JSON.stringify({ graphs: { chat: "./chat.mjs:graph" } }),
  "package.json": JSON.stringify({ name: "app", type: "module" }),
  "chat.mjs": "export const graph = {}\n",
}

const sourceOf = (change: Partial<BuildSource>): BuildSource => ({
  revisionId: newId(),
  deploymentId: newId(),
  deploymentNumber: 77,
  treeHash: "a",
  configPath: "langgraph.json",
  installCommand: "true",
  buildCommand: null,
  ...change,
})

async function fetchInto({ builds }: Machine, { revisionId }: BuildSource, files: Readonly<Record<string, string>>) {
  const tree = await builds.prepare(revisionId)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(tree, path)), { recursive: true })
    writeFileSync(join(tree, path), content)
  }
}

async function started(machine: Machine, change: Partial<BuildSource>, files: Record<string, string> = javascript) {
  const source = sourceOf(change)
  await fetchInto(machine, source, files)
  await machine.builds.start(source, secrets)
  return source
}

/** An installation whose only control plane has begun this build. */
async function building(
  change: Partial<BuildSource>,
  options: { readonly files?: Record<string, string>; readonly memoryMb?: number } = {},
) {
  const { files, ...limits } = options
  const place = await buildsPlace(tested(), limits)
  const machine = await place.open()
  const source = await started(machine, change, files)
  return { place, machine, source, remove: () => machine.builds.remove(source.revisionId) }
}

const untilEnded = ({ builds }: Machine, { revisionId }: BuildSource, timeoutMs = 120_000) =>
  until(
    async () => {
      const now = await builds.state(revisionId)
      return now.state !== "running" && now
    },
    { what: "the build has ended", timeoutMs },
  )

const textOf = async ({ builds }: Machine, { revisionId }: BuildSource): Promise<string> =>
  (await builds.logs(revisionId, 0)).lines.map(({ message }) => message).join("\n")

const untilPrinted = (machine: Machine, source: BuildSource, line: string) =>
  until(async () => (await textOf(machine, source)).split("\n").includes(line), { what: `it has printed ${line}` })

type Place = Awaited<ReturnType<typeof buildsPlace>>

/** All objects of the installation but what it knows of its base image, and its tags in the registry. Asked as an administrator. */
async function leftIn({ namespace, homeId, repository }: Place): Promise<string[]> {
  const { jobs, pods, secrets: secretsPath } = pathsIn(namespace)
  const owned = ownedObjects(tested().admin, homeId)
  const found = await Promise.all([jobs, pods, secretsPath].map((path) => owned.list<KubernetesObject>(path)))
  const path = `/v2/${repository}/tags/list`
  const response = await registryAt({ origin: tested().registry.origin }).ask(path, { expect: [200, 404] })
  const { tags } = (await response.json()) as { readonly tags?: readonly string[] | null }
  const names = found.flat().map(({ metadata }) => metadata.name)
  return [...names.filter((name) => name !== baseName(homeId)), ...(tags ?? [])]
}

const podOf = async ({ namespace, homeId }: Place): Promise<Pod | undefined> =>
  (await ownedObjects(tested().admin, homeId).list<Pod>(pathsIn(namespace).pods))[0]

test("a build goes on when its control plane dies, and one with another data folder finishes it (J2)", async () => {
  const place = await buildsPlace(tested())
  const first = await place.open()
  const source = await started(first, { buildCommand: "echo begun && sleep 3 && echo built" })
  await untilPrinted(first, source, "begun")
  const { lines, next } = await first.builds.logs(source.revisionId, 0)

  const second = await place.open()
  const ofOther = await second.builds.list()
  const state = await second.builds.state(source.revisionId)
  const isAgain = second.builds.start(source, secrets)
  const ended = await untilEnded(second, source)
  const rest = await second.builds.logs(source.revisionId, next)

  await isAgain
  assert.deepEqual(ofOther, [source.revisionId])
  assert.equal(state.state, "running")
  assert.equal(ended.state, "published")
  const all = await textOf(second, source)
  assert.equal([...lines, ...rest.lines].map(({ message }) => message).join("\n"), all)
  assert.deepEqual(all.match(/^(begun|built|build finished)$/gm), ["begun", "built", "build finished"])
  await second.builds.remove(source.revisionId)
  const { artifactId } = (ended.state === "published" && ended.artifact) || { artifactId: "" }
  await second.artifacts.remove(artifactId)
  assert.deepEqual(await leftIn(place), [])
})

test("layers and unfinished files of a former control plane are removed when the next one starts in its folder", async () => {
  const home = temporaryFolder()
  const { folder, addLayer, has } = layoutIn(join(home, "images"))
  const { blob } = await addLayer([{ from: temporaryFolder(), to: "app" }])
  writeFileSync(join(folder, "1.partial"), "")

  const place = await buildsPlace(tested())
  await place.open(home)

  assert.deepEqual([await has(blob), existsSync(join(folder, "1.partial"))], [false, false])
})

test("user code of a build sees no credential, and only the graphs get the deployment's variables (J1)", async () => {
  const search = (name: string) =>
    `for it in ${registryPassword} master-key-of-the-platform ${variable}; do (env; cat /proc/*/environ; grep -rh "$it" /superstep /tmp /var/run /run/secrets) 2>/dev/null | grep -aq "$it" && echo "${name} sees $it"; done; test -e /var/run/secrets && echo "${name} sees secrets"; echo "${name} has looked"`
  // In pieces, since the file itself is searched, too.
  const files = {
    ...javascript,
    "look.sh": search("$1")
      .replaceAll(registryPassword, "password-of-the-'registry'")
      .replaceAll("-key-of", "-key-'of'")
      .replaceAll(variable, "value-of-a-'variable'"),
    "chat.mjs": `import { spawnSync } from "node:child_process"
spawnSync("sh", ["look.sh", "verify"], { stdio: "inherit" })
export const graph = {}
`,
  }
  const commands = { installCommand: "sh look.sh install", buildCommand: "sh look.sh build" }
  const { machine, source, remove } = await building(commands, { files })

  const ended = await untilEnded(machine, source)
  const text = await textOf(machine, source)

  assert.equal(ended.state, "published", text)
  assert.deepEqual(text.match(/^\w+ (sees|has) .*$/gm), [
    "install has looked",
    "build has looked",
    "verify sees [secret]",
    "verify has looked",
  ])
  await remove()
})

test("what user code puts in the place of the result leads to no file of the container that sends it (J1)", async () => {
  const { place, machine, source, remove } = await building({
    buildCommand: "ln -s /superstep/sending /superstep/work/artifact",
  })

  const ended = await untilEnded(machine, source)

  const why = 'the build\'s container "push" failed: the result of the build is no folder'
  assert.deepEqual(ended, { state: "ended", why })
  await remove()
  assert.deepEqual(await leftIn(place), [])
})

test("a pod that the build's Job does not own, such as one of a former Job, is not taken for the build's, and goes with it", async () => {
  const { place, machine, source, remove } = await building({ buildCommand: "echo begun && sleep 2" })
  const former = {
    // The API lists pods by their names.
    metadata: { name: "former", labels: { [labels.owner]: place.homeId, [labels.build]: source.revisionId } },
    spec: {
      schedulerName: "none",
      securityContext: runAs(firstUser),
      containers: [{ name: "build", image: "none", securityContext: noRights }],
    },
  }
  await tested().admin.json(pathsIn(place.namespace).pods, { method: "POST", body: former })

  await untilPrinted(machine, source, "begun")
  const ended = await untilEnded(machine, source)
  await remove()

  assert.equal(ended.state, "published")
  const left = await ownedObjects(tested().admin, place.homeId).list<Pod>(pathsIn(place.namespace).pods)
  assert.deepEqual(left, [])
})

test("a build that was cancelled leaves nothing, wherever it was (J3)", async () => {
  const { place, machine, source, remove } = await building({ buildCommand: "echo begun && sleep 60" })
  await untilPrinted(machine, source, "begun")
  const during = await leftIn(place)

  // Elsewhere, since nothing of it is kept by one control plane.
  await (await place.open()).builds.remove(source.revisionId)

  assert.equal(during.length, 4, during.join())
  assert.deepEqual(await leftIn(place), [])
  await remove()
  assert.deepEqual(await machine.builds.list(), [])
})

test("what a control plane leaves that is killed between image and Job is found by the next one (J3)", async () => {
  const place = await buildsPlace(tested())
  const source = await started(await place.open(), {})
  const { jobs, secrets: secretsPath } = pathsIn(place.namespace)
  const owned = ownedObjects(tested().admin, place.homeId)
  for (const path of [jobs, secretsPath])
    for (const { metadata } of await owned.list<KubernetesObject>(path)) await owned.remove(path, metadata.name)

  const { builds } = await place.open()
  const found = await builds.list()
  await builds.remove(source.revisionId)

  assert.deepEqual(found, [source.revisionId])
  assert.deepEqual(await builds.list(), [])
  await until(async () => (await leftIn(place)).length === 0, { what: "nothing is left" })
})

test("a build whose pod is evicted, or deleted by somebody else, has ended and says why; it starts again", async () => {
  const place = await buildsPlace(tested())
  const machine = await place.open()
  const begun = async (change: Partial<BuildSource> = {}) => {
    const source = await started(machine, { buildCommand: "echo begun && sleep 60", ...change })
    await untilPrinted(machine, source, "begun")
    return source
  }

  const evicted = await begun()
  await tested().node.evict((await podOf(place))?.metadata.uid ?? "", "The node was low on resource: memory.")
  const afterEviction = await untilEnded(machine, evicted)
  await machine.builds.remove(evicted.revisionId)

  const full = await begun()
  const words = "Pod ephemeral local storage usage exceeds the total limit of containers 1536Mi."
  await tested().node.evict((await podOf(place))?.metadata.uid ?? "", words)
  const afterDisk = await untilEnded(machine, full)
  await machine.builds.remove(full.revisionId)

  const deleted = await begun()
  const { name } = (await podOf(place))?.metadata ?? {}
  await tested().admin.json(`${pathsIn(place.namespace).pods}/${name}`, {
    method: "DELETE",
    body: { gracePeriodSeconds: 1 },
  })
  const afterDeletion = await untilEnded(machine, deleted)
  await fetchInto(machine, deleted, javascript)
  await machine.builds.start({ ...deleted, buildCommand: "true" }, secrets)
  const again = await untilEnded(machine, deleted)

  assert.match(afterEviction.state === "ended" ? afterEviction.why : "", /evicted.*low on resource: memory/)
  assert.deepEqual([afterDisk.state, afterDisk.state === "failed" && afterDisk.code], ["failed", "build_too_big"])
  assert.match(afterDeletion.state === "ended" ? afterDeletion.why : "", /pod is gone|stopped from outside/)
  assert.equal(again.state, "published")
  await machine.builds.remove(deleted.revisionId)
})

test("a build whose pod waits for a node costs the API server no request, however often it is looked at", async () => {
  const { place, machine, source, remove } = await building({ buildCommand: "true" }, { memoryMb: 1_000_000 })
  const isWaiting = async () =>
    (await podOf(place))?.status?.conditions?.some(({ type, status }) => type === "PodScheduled" && status === "False")
  await until(isWaiting, { what: "no node has room for the pod" })
  const look = async () => {
    assert.deepEqual(await machine.builds.state(source.revisionId), { state: "running" })
    assert.deepEqual(await machine.builds.logs(source.revisionId, 0), { lines: [], next: 0 })
    assert.deepEqual(await machine.builds.list(), [source.revisionId])
  }
  await look()

  const before = await requestsSeen(tested().admin)
  for (let time = 0; time < 100; time++) {
    await look()
    await sleep(20)
  }

  assert.equal((await requestsSeen(tested().admin)) - before, 0)
  await remove()
})

test("while the API server is away a build counts as running, and goes on", async () => {
  const { machine, source, remove } = await building({ buildCommand: "echo begun && sleep 2" })
  await untilPrinted(machine, source, "begun")

  await tested().killServer()
  const now = await machine.builds.state(source.revisionId)
  const { lines, next, unread } = await machine.builds.logs(source.revisionId, 3)
  await tested().startServer()
  const ended = await untilEnded(machine, source)

  assert.deepEqual(now, { state: "running" })
  assert.deepEqual({ lines, next }, { lines: [], next: 3 })
  assert.match(unread ?? "", /does not answer/)
  assert.equal(ended.state, "published")
  await remove()
})
