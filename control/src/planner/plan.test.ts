import assert from "node:assert/strict"
import test from "node:test"
import type { Shares } from "@superstep/machines/unit-client/unit-replies"
import { storableText } from "@superstep/toolkit/text/storable"
import type { DeploymentFacts, UnitFacts } from "./facts.js"
import { type Action, plan } from "./plan.js"
import { absent, deploymentOf, exited, revisionOf, running, unitOf } from "./testing/facts.js"

const limits = { watchMs: 60_000, idleMs: 600_000, drainMs: 900_000, scaleDownMs: 300_000 }

/** In one word for each: what is done, and to which unit. */
const words = (actions: readonly Action[]): string[] =>
  actions.map((action) => {
    if (action.kind === "unit") return `${action.does} ${action.unit.unit_id}`
    return action.kind === "roll back" ? `roll back (${action.code})` : action.kind
  })
const planned = (deployment: DeploymentFacts, changed: Partial<typeof limits> = {}): string[] =>
  words(plan(deployment, { ...limits, ...changed }))

const one = (change: Partial<UnitFacts>) => [unitOf("u", change)]
const serving = (change: Partial<UnitFacts>, deployment: Partial<DeploymentFacts> = {}) =>
  deploymentOf([revisionOf("serving", one(change))], deployment)
const starting = (change: Partial<UnitFacts>, isSettled = false) =>
  deploymentOf([revisionOf("starting", one(change), { is_settled: isSettled })])
const retiring = (change: Partial<UnitFacts>, dueMs = 900_000, deployment: Partial<DeploymentFacts> = {}) =>
  deploymentOf([revisionOf("retiring", one(change), { retire_in_ms: dueMs })], deployment)
const startedBefore = () =>
  deploymentOf([revisionOf("starting", one({ seen: absent }), { is_settled: false, is_deploying: false })])
const standbyWithRun = (change: Partial<UnitFacts>) =>
  deploymentOf([
    revisionOf("serving", [unitOf("new")], { settled_ms: 10 }),
    revisionOf("standby", one(change), { pins: { threads: 1, has_runs: true, traffic: undefined, quiet_ms: 0 } }),
  ])
const pinned = (
  change: Partial<UnitFacts>,
  threads?: number,
  has_runs = false,
  { pinned_ms = 1000, quiet_ms = 60_000 } = {},
) =>
  deploymentOf([
    revisionOf("pinned", one(change), {
      pinned_ms,
      pins: threads === undefined ? undefined : { threads, has_runs, traffic: undefined, quiet_ms },
    }),
  ])
const standby = (change: Partial<UnitFacts>, deployment: Partial<DeploymentFacts> = {}) =>
  deploymentOf(
    [revisionOf("serving", [unitOf("new")], { settled_ms: 10 }), revisionOf("standby", one(change))],
    deployment,
  )

const leaving = (other: Partial<UnitFacts>, change: Partial<UnitFacts> = {}) =>
  deploymentOf([revisionOf("serving", [unitOf("u", { leaving_ms: 0, ...change }), unitOf("v", other)])])

const inactive = { seen: running("ready", { serving: false }) }
const open = { traffic: { open: 1, idle_ms: 0 } }
const executesNothing = { seen: running("ready", { executes_pinned: false }) }
const disrupted = { ...exited, isDisrupted: true } as const
const besideStandby = (change: Partial<UnitFacts>) =>
  deploymentOf([revisionOf("serving", [unitOf("new", change)], { settled_ms: 10 }), revisionOf("standby", one({}))])

const cases: readonly (readonly [string, DeploymentFacts, readonly string[]])[] = [
  ["serving, well", serving({}), []],
  ["serving, not looked at yet", serving({ seen: undefined }), []],
  ["serving, never started", serving({ seen: absent }), ["start u"]],
  ["serving, ended", serving({ seen: exited }), ["record crash u"]],
  ["serving, ended and counted", serving({ seen: exited, is_down: true }), ["start u"]],
  ["serving, ended, back-off", serving({ seen: exited, is_down: true, may_start: false }), []],
  ["serving, somebody else ends it", serving({ seen: { ...running("not ready"), isDisrupted: true } }), ["hold u"]],
  ["serving, somebody else ends it, held", serving({ is_ready: false, seen: { ...running(), isDisrupted: true } }), []],
  ["serving, ended by somebody else", serving({ seen: disrupted }), ["hold u"]],
  ["serving, ended by somebody else, held", serving({ seen: disrupted, is_ready: false }), ["record disruption u"]],
  ["serving, ended by somebody else, a standby answers", besideStandby({ seen: disrupted }), ["record disruption new"]],
  ["pinned, ended by somebody else, a run waits", pinned({ seen: disrupted }, 1, true), ["record disruption u"]],
  ["serving, hung", serving({ seen: running("hung") }), ["stop hung u"]],
  ["serving, silent", serving({ seen: running("silent") }), []],
  ["serving, not active", serving(inactive), ["activate u"]],
  ["serving, not active while the next revision is switched to", serving(inactive, { is_switching: true }), []],
  ["serving, held and not ready", serving({ is_ready: false, seen: running("not ready") }), []],
  ["serving, held and ready", serving({ is_ready: false }), ["admit u"]],
  ["serving, outdated", serving({ is_outdated: true }), ["hold u"]],
  ["serving, outdated and held", serving({ is_outdated: true, is_ready: false }), ["stop u"]],
  ["serving, outdated and stopped", serving({ is_outdated: true, is_ready: false, seen: absent }), ["start u"]],
  ["serving, asleep and running", serving({}, { is_asleep: true, has_sleep: true }), ["suspend u"]],
  ["serving, asleep and stopped", serving({ seen: absent }, { is_asleep: true, has_sleep: true }), []],
  ["serving, asleep and ended by itself", serving({ seen: exited }, { is_asleep: true, has_sleep: true }), []],
  ["serving, being woken", serving({ seen: absent, is_ready: false }, { has_sleep: true }), ["start u"]],
  ["serving, paused and running", serving({}, { is_paused: true }), ["suspend u"]],
  ["starting, never started", starting({ seen: absent }), []],
  ["starting, stopped by a start of the platform after its first start", startedBefore(), ["start u"]],
  ["starting, running", starting({ seen: running("not ready") }), []],
  ["starting, hung", starting({ seen: running("hung") }), []],
  ["starting, ended", starting({ seen: exited }), ["record crash u"]],
  ["starting, ended and counted", starting({ seen: exited, is_down: true, crashes: 2 }), ["start u"]],
  ["starting, ended too often", starting({ seen: exited, is_down: true, crashes: 3 }), []],
  ["starting, its deploy has ended", starting({}, true), ["remove u"]],
  ["standby", standby({}), []],
  ["standby, ended", standby({ seen: exited }), []],
  ["standby, ended, a run of a pinned thread waits", standbyWithRun({ seen: exited }), ["record crash u"]],
  ["standby, stopped, a run of a pinned thread waits", standbyWithRun({ seen: absent }), ["start u"]],
  ["standby, paused", standby({}, { is_paused: true }), ["suspend new", "suspend u"]],
  ["pinned, stopped, no run waits", pinned({ seen: absent }, 1), []],
  ["pinned, stopped, a run waits", pinned({ seen: absent }, 1, true), ["start u"]],
  ["pinned, stopped, not asked yet", pinned({ seen: absent }, undefined), []],
  ["pinned, a run executes", pinned({ seen: running("ready", { running_runs: 1 }) }, 1, true), []],
  ["pinned, no run for a minute", pinned({}, 1), ["stop u"]],
  ["pinned, a run ended just now", pinned({}, 1, false, { quiet_ms: 59_999 }), []],
  ["pinned, a stream of before is open", pinned(open, 1), []],
  ["pinned, a stream of before is open for too long", pinned(open, 1, false, { pinned_ms: 900_000 }), ["stop u"]],
  [
    "pinned, too old, a run of before goes on",
    pinned({ seen: absent }, 0, true, { pinned_ms: 86_400_000 }),
    ["start u"],
  ],
  ["pinned, of a release that executes nothing", pinned({ ...executesNothing, up_ms: 2000 }, 1, true), ["stop u"]],
  ["pinned, an image of a release that executes nothing", pinned(executesNothing, 1, true), []],
  ["pinned, ended by itself", pinned({ seen: exited }, 1, true), ["record crash u"]],
  ["pinned, hung", pinned({ seen: running("hung") }, 1), ["stop hung u"]],
  ["pinned, nothing is", pinned({}, 0, false, { quiet_ms: 0 }), ["retire"]],
  ["pinned for too long", pinned({ seen: absent }, 3, false, { pinned_ms: 86_400_000 }), ["end pins"]],
  ["retiring, idle", retiring({}), ["remove if idle u"]],
  ["retiring, a run executes", retiring({ seen: running("ready", { running_runs: 1 }) }), []],
  ["retiring, a stream is open", retiring({ seen: running("ready", { open_streams: 1 }) }), []],
  ["retiring, a request is open at the edge", retiring(open), []],
  ["retiring, the edge does not say", retiring({ traffic: undefined }), []],
  ["retiring, silent", retiring({ seen: running("silent") }), []],
  ["retiring, hung", retiring({ seen: running("hung") }), ["remove if hung u"]],
  ["retiring, ended", retiring({ seen: exited }), ["remove u"]],
  ["retiring, its time is nearly over", retiring(open, 1), []],
  ["retiring, its time is over", retiring(open, 0), ["remove u"]],
  ["retiring, paused", retiring(open, 900_000, { is_paused: true }), ["remove u"]],
  ["leaving, another one serves", leaving({}), ["hold u"]],
  ["leaving, held and idle", leaving({}, { is_ready: false }), ["remove u"]],
  ["leaving, held, a request is open", leaving({}, { is_ready: false, ...open }), []],
  [
    "leaving, a request is open for too long",
    leaving({}, { is_ready: false, ...open, leaving_ms: 900_000 }),
    ["remove u"],
  ],
  ["leaving, the other one is to restart", leaving({ is_outdated: true }), ["hold v"]],
  [
    "leaving, held, the other one is to restart",
    leaving({ is_outdated: true }, { is_ready: false, traffic: { open: 1, idle_ms: 0 } }),
    ["hold v"],
  ],
  ["leaving, somebody else ends the other one", leaving({ seen: disrupted }), ["hold v"]],
  ["leaving, no other one serves", leaving({ is_ready: false, seen: running("not ready") }), []],
  ["deleted", serving({ seen: undefined }, { is_deleted: true }), ["remove u"]],
]
for (const [what, facts, actions] of cases) {
  test(`plan: ${what}: ${actions.join(", ") || "nothing"}`, () => assert.deepEqual(planned(facts), actions))
}

test("plan: replicas restart one after the other, and none while another one is down", () => {
  const replica = (ordinal: number, change: Partial<UnitFacts> = {}) =>
    unitOf(`u${ordinal}`, { ordinal, is_outdated: true, ...change })
  const of = (...units: UnitFacts[]) => planned(deploymentOf([revisionOf("serving", units)]))

  assert.deepEqual(of(replica(0), replica(1)), ["hold u0"])
  assert.deepEqual(of(replica(0, { is_outdated: false }), replica(1)), ["hold u1"])
  assert.deepEqual(of(replica(0), replica(1, { is_down: true, seen: exited, may_start: false })), [])
  assert.deepEqual(of(replica(0), replica(1, { is_ready: false, is_outdated: false, seen: running("not ready") })), [])
  assert.deepEqual(of(replica(0), replica(1, { is_answering: false })), [])
  assert.deepEqual(of(replica(0, { is_ready: false, seen: absent, connections: 0 }), replica(1)), ["start u0"])
  const drained = { seen: { ...running(), isDisrupted: true } } as const
  assert.deepEqual(of(replica(0), replica(1, drained)), ["hold u1"], "its node is drained")
  const old = (ordinal: number) =>
    replica(ordinal, { is_outdated: false, seen: running("ready", { traffic: undefined }) })
  const canary = revisionOf("canary", [unitOf("c")], { weight: 20, settled_ms: 10 })
  const withCanary = planned(deploymentOf([revisionOf("serving", [old(0), old(1)]), canary]))
  assert.deepEqual(withCanary, ["hold u0"], "those of an older release, too")
  const without = replica(1, { connections: 0, is_answering: false, seen: absent, may_start: false })
  assert.deepEqual(of(replica(0), without), ["hold u0"], "one that there was no room for is not waited for")
})

/** A new revision and the one that stands by. */
const watched = (
  change: Partial<UnitFacts>,
  settledMs: number,
  { watchMs = 60_000, ...deployment }: Partial<DeploymentFacts> & { watchMs?: number } = {},
) => {
  const revisions = [
    revisionOf("serving", [unitOf("new", change)], { settled_ms: settledMs }),
    revisionOf("standby", [unitOf("old")]),
  ]
  return words(plan(deploymentOf(revisions, deployment), { ...limits, watchMs })).filter((it) => !it.endsWith(" new"))
}

test("plan: a new revision is watched, and rolled back at its second crash", () => {
  assert.deepEqual(watched({}, 59_999), [])
  assert.deepEqual(watched({}, 60_000), ["end watch"])
  assert.deepEqual(watched({ crashes: 1 }, 10), [])
  assert.deepEqual(watched({ crashes: 2 }, 10), ["roll back (crash_loop)"])
  assert.deepEqual(watched({ crashes: 1, worker_crashes: 1 }, 10), ["roll back (crash_loop)"])
  assert.deepEqual(watched({}, 0, { watchMs: 0 }), ["end watch"])
})

test("plan: the revision before stands by until the new one is up, and serves again when that does not come up", () => {
  const down = { seen: exited, is_down: true, may_start: false }
  assert.deepEqual(watched(down, 119_999), [])
  assert.deepEqual(watched(down, 120_000), ["roll back (health_timeout)"])
  assert.deepEqual(watched({ seen: running("not ready") }, 120_000), ["roll back (health_timeout)"])
  assert.deepEqual(watched({ seen: running("silent") }, 500_000), [], "slow is no reason to roll back")
  assert.deepEqual(watched({ seen: undefined }, 500_000), [])
  const asleep = { is_asleep: true, has_sleep: true }
  assert.deepEqual(watched({ seen: absent }, 60_000, asleep), ["end watch", "suspend old"])
})

test("plan: while a revision is switched to and verified, its end decides", () => {
  const revisions = [
    revisionOf("serving", [unitOf("new", { crashes: 5 })], { is_settled: false, settled_ms: null }),
    revisionOf("standby", [unitOf("old")]),
  ]

  assert.deepEqual(planned(deploymentOf(revisions)), [])
})

test("plan: the reason of a rollback says which crashes they were", () => {
  const reasonFor = (change: Partial<UnitFacts>) => {
    const revisions = [
      revisionOf("serving", [unitOf("new", { last_worker_crash: storableText("exit code 3", 100), ...change })], {
        settled_ms: 10,
      }),
      revisionOf("standby", [unitOf("old")]),
    ]
    const [action] = plan(deploymentOf(revisions), limits)
    return action?.kind === "roll back" && action.reason
  }

  assert.equal(reasonFor({ worker_crashes: 2 }), "its worker processes crashed 2 times, the last one with exit code 3")
  assert.equal(
    reasonFor({ crashes: 1, worker_crashes: 1 }),
    "the agent server ended once after it was deployed; its worker processes crashed once, the last one with exit code 3",
  )
})

const sharedTraffic = (weight: number) => [
  { revision_id: "revision-serving", weight: null },
  ...(weight > 0 ? [{ revision_id: "revision-canary", weight }] : []),
]

/** A canary beside the revision that serves, whose units report that traffic. */
const withCanary = ({
  weight = 10,
  reported = 10,
  canary = {},
  base = {},
  ...deployment
}: Partial<DeploymentFacts> & {
  weight?: number
  reported?: number | undefined
  canary?: Partial<UnitFacts>
  base?: Partial<UnitFacts>
} = {}) => {
  const seen = running("ready", { traffic: sharedTraffic(reported) })
  const unit = unitOf("base", { revision_id: "revision-serving", seen, ...base })
  return planned(
    deploymentOf(
      [revisionOf("serving", [unit]), revisionOf("canary", [unitOf("canary", { ...canary })], { weight })],
      deployment,
    ),
  )
}

test("plan: a canary gets the threads that its weight says", () => {
  assert.deepEqual(withCanary(), [])
  assert.deepEqual(withCanary({ reported: 0 }), ["activate base"])
  assert.deepEqual(withCanary({ weight: 20 }), ["activate base"])
  assert.deepEqual(withCanary({ weight: 20, is_switching: true }), [])
  const older = { seen: running("ready", { traffic: undefined }) }
  assert.deepEqual(withCanary({ base: { ...older, up_ms: 2_000_000 } }), ["hold base"], "an older release")
  assert.deepEqual(withCanary({ base: older }), [], "an image of an older release, which starts the same program again")
  assert.deepEqual(withCanary({ canary: { seen: exited } }), ["record crash canary"])
  assert.deepEqual(withCanary({ canary: inactive }), [], "what serves is activated")
  assert.deepEqual(withCanary({ is_paused: true }), ["suspend base", "suspend canary"])
})

test("plan: a canary is promoted when it is up, and aborted on request or when it crashes", () => {
  assert.deepEqual(withCanary({ weight: 100 }), ["promote"])
  assert.deepEqual(withCanary({ weight: 100, reported: 0 }), ["promote"], "the base is not activated any more")
  assert.deepEqual(withCanary({ weight: 100, is_worked_on: true }), ["promote"])
  assert.deepEqual(withCanary({ weight: 100, is_switching: true }), [])
  assert.deepEqual(withCanary({ weight: 100, is_asleep: true }), ["wake", "suspend base", "suspend canary"])
  assert.deepEqual(withCanary({ weight: 100, canary: { seen: running("not ready") } }), [])
  assert.deepEqual(withCanary({ weight: 0 }), ["abort", "activate base"])
  assert.deepEqual(withCanary({ weight: 0, reported: 0 }), ["abort"], "it has no share any more")
  assert.deepEqual(withCanary({ canary: { crashes: 2 } }), ["abort"])
  assert.deepEqual(withCanary({ canary: { worker_crashes: 2 }, weight: 100 }), ["abort"])
  const refused = { seen: absent, connections: 0, may_start: false }
  assert.deepEqual(withCanary({ canary: refused }), ["abort"], "there is no room for it")
  assert.deepEqual(withCanary({ canary: { ...refused, may_start: true } }), ["start canary"])
  assert.deepEqual(withCanary({ canary: { seen: running("not ready"), up_ms: 119_999 } }), [])
  assert.deepEqual(withCanary({ canary: { seen: running("not ready"), up_ms: 120_000 } }), ["abort"])
  const alone = deploymentOf([revisionOf("canary", [unitOf("canary")])])
  assert.deepEqual(planned(alone), ["promote"], "the revision that served is gone")
})

test("plan: a former revision is kept when its pins were counted before the activation that may add some", () => {
  const unit = unitOf("base", {
    revision_id: "revision-serving",
    seen: running("ready", { traffic: sharedTraffic(10) }),
  })
  const of = (traffic: Shares | undefined) => {
    const pins = { threads: 0, has_runs: false, traffic, quiet_ms: 1000 }
    const revisions = [
      revisionOf("serving", [unit]),
      revisionOf("canary", [unitOf("canary")]),
      revisionOf("pinned", [unitOf("old", { seen: absent })], { pins }),
    ]
    return planned(deploymentOf(revisions))
  }

  assert.deepEqual([of(sharedTraffic(0)), of(sharedTraffic(10)), of(undefined)], [[], ["retire"], ["retire"]])
  assert.deepEqual(of([]), [], "of an agent server of an older release, which does not say when it counted")
})

test("plan: a canary whose runs fail more often is aborted where that is asked for", () => {
  const counts = { canary: { runs_ended: 20, runs_failed: 20 }, base: { runs_ended: 180, runs_failed: 2 } }
  const base = { seen: running("ready", { traffic: sharedTraffic(10) }), ...counts.base }
  assert.deepEqual(withCanary({ ...counts, base }), [])
  assert.deepEqual(withCanary({ ...counts, base, rollback_min_runs: 20 }), ["abort"])
  assert.deepEqual(withCanary({ ...counts, base, rollback_min_runs: 21 }), [])
})

const idle = { idle_ms: 600_000, traffic: { open: 0, idle_ms: 600_000 } }
const sleepy = { may_sleep: true }

test("plan: a deployment sleeps when nothing was seen of it for long", () => {
  const other = (revision: Parameters<typeof revisionOf>) =>
    deploymentOf([revisionOf("serving", one(idle)), revisionOf(...revision)], sleepy)

  assert.deepEqual(planned(serving(idle, sleepy)), ["fall asleep"])
  assert.deepEqual(planned(serving(idle)), [], "its type never sleeps")
  const used = { ...idle, idle_ms: 599_999 }
  assert.deepEqual(planned(serving(used, sleepy)), [], "the table saw use that this edge did not")
  assert.deepEqual(planned(serving({ ...idle, traffic: { open: 1, idle_ms: 0 } }, sleepy)), ["record use"])
  assert.deepEqual(planned(serving({ ...idle, traffic: undefined, idle_ms: 4000 }, sleepy)), [])
  assert.deepEqual(planned(serving(idle, { ...sleepy, is_worked_on: true })), [])
  assert.deepEqual(planned(serving(idle, { ...sleepy, is_switching: true })), [])
  assert.deepEqual(planned(serving({ ...idle, is_ready: false, seen: running("not ready") }, sleepy)), [])
  assert.deepEqual(planned(other(["retiring", [unitOf("old", { traffic: { open: 1, idle_ms: 0 } })]])), [])
  assert.deepEqual(planned(other(["pinned", [unitOf("old", { seen: absent, connections: 0 })]])), ["fall asleep"])
  assert.deepEqual(planned(other(["pinned", [unitOf("old")]])), [], "it still runs")
  const waits = { pins: { threads: 1, has_runs: true, traffic: undefined, quiet_ms: 0 } }
  const stopped = unitOf("old", { seen: absent, may_start: false })
  assert.deepEqual(planned(other(["pinned", [stopped], waits])), [], "a run waits for it")
  assert.deepEqual(planned(other(["standby", [unitOf("old")], {}]), { watchMs: 10_000_000 }), [])
})

test("plan: a replica without connections keeps nobody awake, and a busy one all", () => {
  const of = (...units: UnitFacts[]) => planned(deploymentOf([revisionOf("serving", units)], sleepy))

  const without = { connections: 0, is_down: true, seen: absent, may_start: false }
  assert.deepEqual(of(unitOf("a", idle), unitOf("b", without)), ["fall asleep"])
  assert.deepEqual(of(unitOf("a", idle), unitOf("b")), [])
})

test("plan: what is due wakes a sleeper, and a sleeper that was woken is not woken again", () => {
  const asleep = (wake_in_ms: number | null, is_asleep = true) =>
    planned(serving({ seen: absent, may_start: false }, { is_asleep, has_sleep: true, wake_in_ms }))

  assert.deepEqual(asleep(0), ["wake"])
  assert.deepEqual(asleep(1), [])
  assert.deepEqual(asleep(null), [])
  assert.deepEqual(asleep(0, false), [])
  assert.deepEqual(planned(serving({}, { has_sleep: true })), ["end sleep"])
})
