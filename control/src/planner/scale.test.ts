import assert from "node:assert/strict"
import test from "node:test"
import type { RevisionFacts, UnitFacts } from "./facts.js"
import { scale } from "./scale.js"
import { absent, revisionOf, running, unitOf } from "./testing/facts.js"

type Load = { free_slots: number; waiting_ms: number | null; loop_utilization: number }
const room: Load = { free_slots: 10, waiting_ms: null, loop_utilization: 0.1 }
const short: Load = { free_slots: 0, waiting_ms: 2000, loop_utilization: 0.1 }

const loaded = (ordinal: number, load: Load, running_runs = 0, change: Partial<UnitFacts> = {}) =>
  unitOf(`u${ordinal}`, { ordinal, seen: running("ready", { load, running_runs }), ...change })
const revision = (units: readonly UnitFacts[], change: Partial<RevisionFacts> = {}) =>
  revisionOf("serving", units, { min_units: 1, max_units: 3, ...change })
const shown = (units: readonly UnitFacts[], change: Partial<RevisionFacts> = {}, isRestarting = false) => {
  const scaling = scale(revision(units, change), { isRestarting, scaleDownMs: 300_000 })
  return scaling?.does === "take away" ? `take away ${scaling.unit.unit_id}` : scaling?.does
}
const busy: Load = { ...room, loop_utilization: 0.9 }
const noRoom = { connections: 0, seen: absent }
const long = { scaled_ms: 300_000, loaded_ms: 300_000 }

const cases: readonly (readonly [string, string | undefined, string | undefined])[] = [
  ["there is room", shown([loaded(0, room)]), undefined],
  ["a run waits", shown([loaded(0, short)]), "add"],
  ["a run waits for a moment", shown([loaded(0, { ...short, waiting_ms: 1999 })]), undefined],
  ["all loops are busy", shown([loaded(0, busy)]), "add"],
  ["one loop is busy", shown([loaded(0, busy), loaded(1, room)], { max_units: 2 }), "record load"],
  ["it may have no more", shown([loaded(0, short)], { max_units: 1 }), undefined],
  ["it has as many as it may", shown([loaded(0, short), loaded(1, short)], { max_units: 2 }), "record load"],
  ["one was added just now", shown([loaded(0, short)], { scaled_ms: 9999 }), undefined],
  ["one was added ten seconds ago", shown([loaded(0, short)], { scaled_ms: 10_000 }), "add"],
  ["another one starts", shown([loaded(0, short), unitOf("u1", { seen: running("not ready") })]), undefined],
  ["there was no room for another one", shown([loaded(0, short), unitOf("u1", noRoom)]), undefined],
  ["a release that reports no load", shown([unitOf("u0")]), undefined],
  ["two are needed", shown([loaded(0, room, 8), loaded(1, room, 8)], long), "record load"],
  ["that was noted just now", shown([loaded(0, room, 8), loaded(1, room, 8)], { ...long, loaded_ms: 9999 }), undefined],
  ["one is enough", shown([loaded(0, room, 4), loaded(1, room, 4)], long), "take away u1"],
  ["one is enough, and they restart", shown([loaded(0, room), loaded(1, room)], long, true), undefined],
  ["one is enough for a while", shown([loaded(0, room), loaded(1, room)], { ...long, loaded_ms: 299_999 }), undefined],
  ["two are the least", shown([loaded(0, room), loaded(1, room)], { ...long, min_units: 2 }), undefined],
  [
    "one leaves already",
    shown([loaded(0, room), loaded(1, room), loaded(2, room, 0, { leaving_ms: 1 })], { ...long, min_units: 2 }),
    undefined,
  ],
  [
    "one for which there is no room goes first",
    shown([loaded(0, room), loaded(1, room, 0, noRoom), loaded(2, room)], long),
    "take away u1",
  ],
]
for (const [name, actual, expected] of cases)
  test(`scale: ${name}: ${expected ?? "nothing"}`, () => assert.equal(actual, expected))
