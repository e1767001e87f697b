/** The machine over a channel is the same machine; what a hostile control plane sends is refused, and changes nothing. */

import assert from "node:assert/strict"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Duplex, duplexPair } from "node:stream"
import test from "node:test"
import { BuildFailed } from "@superstep/builder/faults/build-failed"
import { Secret } from "@superstep/toolkit/config/settings"
import { silent } from "@superstep/toolkit/testing/test-cluster"
import { until } from "@superstep/toolkit/testing/until"
import type { Facts } from "../parts/compose-machine.js"
import type { Machine } from "../port/port.js"
import { buildsConformance, unitsConformance } from "../port/testing/conformance.js"
import { unitSpec } from "../port/testing/unit-spec.js"
import { processPlace } from "../process/testing/place.js"
import type { Areas } from "./calls.js"
import { openChannel } from "./channel.js"
import { machineOf, remoteAreas } from "./machine-client.js"
import { serveMachine } from "./serve.js"

const noEdge: Areas["edge"] = {
  push: async ({ generation }, pemOf) => ({ generation: generation + ((await pemOf?.("a")) ?? "").length }),
  status: () => assert.fail(),
  tables: async () => [{ edge: "one", isReady: true, generation: undefined, behindMs: 7 }],
  ensure: () => assert.fail(),
  isAlive: async () => false,
}
const noKeys: Areas["keyFiles"] = {
  read: async () => undefined,
  writeFirst: () => assert.fail(),
  promoteNext: () => assert.fail(),
  removeNext: () => assert.fail(),
}

/** A machine served over a channel. */
function serve(machine: Machine, facts: Facts, onEnd: (why: Error | undefined) => void = () => undefined) {
  const [here, there] = duplexPair() as [Duplex, Duplex]
  const signals: ((signal: NodeJS.Signals) => void)[] = []
  const installation: Areas["installation"] = {
    facts: async () => facts,
    stopAll: async () => undefined,
    onSignal: async (onSignal) => {
      signals.push(onSignal)
      return () => void signals.splice(0)
    },
  }
  openChannel(here, serveMachine({ ...machine, edge: noEdge, keyFiles: noKeys, installation }), onEnd)
  const channel = openChannel(
    there,
    () => assert.fail("the machine calls nothing by name"),
    () => undefined,
  )
  const areas = remoteAreas(channel)
  return { areas, channel, there, signals, machine: machineOf(areas, facts, silent) }
}

function remotePlace() {
  const place = processPlace()
  const { unitSockets } = place.folders
  const facts = {
    homeId: "home",
    unitSockets,
    servicesIn: undefined,
    edgeUrl: "",
    wakeSocket: "",
    wakeToken: new Secret("t"),
  }
  const open = () => serve(place.open(), facts)
  return { ...place, served: open, open: () => open().machine, units: () => open().machine.units }
}

unitsConformance("a machine in another process", remotePlace)
buildsConformance("a machine in another process", remotePlace)

const unitId = "0190a1b2-0000-7000-8000-000000000001"
const unit = unitSpec({
  unitId,
  deploymentNumber: 1,
  token: new Secret("t"),
  memoryMb: undefined,
})

test("calls that are not in the table, and arguments that lead elsewhere, are refused", async () => {
  const place = remotePlace()
  const victim = join(dirname(place.folders.units), "victim")
  mkdirSync(victim)
  writeFileSync(join(victim, "out.log"), "a line\n")
  const { channel, machine } = place.served()
  const source = { ...unit, treeHash: "a", installCommand: null, buildCommand: null }
  const hostile: [string, unknown[]][] = [
    ["units.remove", ["../victim"]],
    ["units.remove", ["."]],
    ["units.remove", [""]],
    ["units.logs", ["../victim", ""]],
    ["units.logs", [unitId, 0]],
    ["units.remove", [{ toString: "x" }]],
    ["units.remove", []],
    ["units.remove", [unitId, "more"]],
    ["units.stop", [unitId, { graceMs: "soon" }]],
    ["units.start", [{ ...unit, deploymentNumber: 0 }]],
    ["units.start", [{ ...unit, deploymentNumber: -200_000 }]],
    ["units.start", [{ ...unit, deploymentNumber: 0.5 }]],
    ["units.start", [{ ...unit, artifactId: "../../etc" }]],
    ["units.start", [{ ...unit, configPath: "../../etc/passwd" }]],
    ["units.start", [{ ...unit, configPath: "/etc/passwd" }]],
    ["units.start", [{ ...unit, secrets: { "A=B": new Secret("x") } }]],
    ["units.start", [{ ...unit, token: "clear" }]],
    ["builds.prepare", ["../../victim"]],
    ["builds.stop", [new Set(["../victim"])]],
    ["builds.plan", [{ ...source, configPath: "a/../../x" }]],
    ["artifacts.remove", ["../victim"]],
    ["artifacts.removeCache", [".."]],
    ["keyFiles.read", ["../id"]],
    ["keyFiles.constructor", []],
    ["units.toString", []],
    ["units.address", [unitId]],
    ["__proto__.valueOf", []],
    ["installation.facts.call", []],
    ["edge.stop", []],
    ["constructor.constructor", ["return process"]],
    ["", []],
  ]

  for (const [name, args] of hostile)
    await assert.rejects(channel.call(name, args), { code: "refused_call" }, `${name} ${JSON.stringify(args)}`)

  assert.ok(existsSync(join(victim, "out.log")))
  assert.deepEqual(await machine.units.list(), [])
})

test("a message that is none ends the channel, and a value of an unknown kind only its call", async () => {
  const place = remotePlace()
  const served = place.served()
  await assert.rejects(served.channel.call("units.remove", [{ $: "constructor", value: 1 }]), { code: "refused_call" })
  let replied = ""
  served.there.on("data", (chunk: Buffer) => {
    replied += chunk
  })
  served.there.write('{"id":7,"call":"units.status","args":[{"$":"constructor"}]}\n')
  await until(() => replied.includes("unknown kind of value"), { what: "it is refused" })

  let why: Error | undefined
  const other = serve(place.open(), await served.areas.installation.facts(), (error) => {
    why = error
  })
  other.there.write("no JSON\n")

  await until(() => why !== undefined, { what: "the channel has ended" })
  assert.deepEqual(await served.machine.units.list(), [])
})

test("a message that is too long is an error of its call, in both directions, and the channel goes on", async () => {
  const long = "x".repeat(64 * 1024 * 1024)
  const [here, there] = duplexPair() as [Duplex, Duplex]
  const ended: unknown[] = []
  const answer = (name: string) => {
    if (name === "fail") throw new Error(long)
    return name === "long" ? long : name
  }
  openChannel(here, answer, (why) => ended.push(why))
  const channel = openChannel(there, answer, (why) => ended.push(why))

  await assert.rejects(channel.call("short", [long]), /longer than/)
  await assert.rejects(channel.call("long", []), /longer than/)
  await assert.rejects(channel.call("fail", []), /longer than/)

  assert.equal(await channel.call("short", []), "short")
  assert.deepEqual(ended, [])
  there.destroy()
})

test("errors keep their class, functions can be called both ways, and a watch ends", async () => {
  const { machine, areas, signals, there } = remotePlace().served()
  const source = { ...unit, revisionId: "r", treeHash: "a", installCommand: null, buildCommand: null }
  mkdirSync(await machine.builds.prepare("r"))
  await assert.rejects(machine.builds.plan(source), BuildFailed)
  assert.deepEqual(await areas.edge.push({ generation: 3, routes: [] }, async () => "four"), { generation: 7 })
  const tables = await areas.edge.tables()
  assert.deepEqual(tables, [{ edge: "one", isReady: true, generation: undefined, behindMs: 7 }])
  await assert.rejects(
    areas.edge.push({ generation: 3, routes: [] }, async () => 4 as unknown as string),
    "a certificate is a text",
  )
  const heard: string[] = []
  const end = await areas.installation.onSignal((signal) => void heard.push(signal))
  signals[0]?.("SIGTERM")
  await until(() => heard.length === 1, { what: "the signal has arrived" })
  await end()
  assert.equal(signals.length, 0)
  // A stopped reader is told at once.
  const stopped = AbortSignal.abort()
  await assert.rejects(machine.artifacts.readSchemas({ ...unit, artifactId: "missing" }, stopped))
  there.destroy()
})
