/** A whole history of the queue: a seed gives it, and the same seed gives the same one. README.md says what is checked. */
import { sql } from "@superstep/toolkit/db/sql"
import type { Outcome } from "@superstep/toolkit/testing/simulation/histories"
import type { Session } from "@superstep/toolkit/testing/simulation/simulated-session"
import { leaseTimes } from "../../../servers/lease-times.js"
import { type Ask, Clients } from "./clients.js"
import { longestWayMs, problemsOf, usualWayMs } from "./judges.js"
import { forgetRecords, readRecords } from "./record.js"
import { leaseMs, runTimeoutMs } from "./simulated-server.js"
import { places, World } from "./world.js"

// The jump of a clock, a lease, the contact of another server and its next look; then the
// attempts of a thread's runs, each as long as its limit, one after the other.
const settlingMs = 20 * 60_000
const lookMs = 5000
const { sweepMs, renewMs } = leaseTimes(leaseMs)
// The clock of a server that is slow.
const rateMost = 1.06
// A lease, and three looks at the queue: since the last renewal, at the lease, and at the run that waits again.
const takenWithinMs = leaseMs + 3 * sweepMs
// Some statements and messages.
const slackMs = 1500

/**
 * @param session  of a database that `ownTheTime` and `recordRuns` have prepared; all its runs are deleted
 * @param print    takes a line for each event
 */
export async function simulate(
  session: Session,
  seed: number,
  print: (line: string) => void = () => undefined,
): Promise<Outcome> {
  await forgetRecords(session)
  // Statements that choose by chance choose the same each time.
  await session.run(sql`select setseed(${(seed % 1000) / 1000})`)
  const world = new World(seed, session, print)
  const clients = new Clients(world)
  const { random, clock } = world
  for (const place of places) world.start(place, { keepsId: false })
  const longestMs = random.pick([2000, 6000, 20_000])
  for (let event = random.between(30, 120); event > 0 && world.broken.length === 0; event--) {
    await clock.pass(random.between(1, longestMs))
    clients.act()
  }
  if (world.broken.length === 0) await comeToRest(world)
  if (world.broken.length === 0) await actInCalm(world, clients)
  world.end()
  await judge(world, clients)
  return {
    seed,
    broken: world.broken,
    simulatedMs: clock.now(),
    counts: { ...clock.counts, runs: clients.asks.length },
  }
}

async function judge(world: World, clients: Clients): Promise<void> {
  const { servers, executions } = world
  const history = {
    ...(await readRecords(world.db)),
    servers,
    executions,
    asks: clients.asks,
    stops: clients.stops,
    leaseMs,
    runTimeoutMs,
    wayMs: world.faults.mayStrike ? longestWayMs : usualWayMs,
  }
  for (const problem of problemsOf(history)) world.breaks(problem)
}

/** Faults stop: all runs become final. */
async function comeToRest(world: World): Promise<void> {
  world.tell("— faults stop")
  world.faults.areOn = false
  world.isCalm = true
  for (const place of places) {
    const server = world.at(place)
    if (server && !server.isServing) world.kill(place)
    world.start(place, { keepsId: world.random.below(2) === 0 })
    if (server) server.life.suspendedUntil = 0
  }
  // What is on its way arrives: also requests, whose runs wait then.
  await world.clock.pass(longestWayMs)
  const end = world.clock.now() + settlingMs
  let open: string[] = []
  do {
    // A run that was there before, or a stop that was asked for, may still end a server.
    for (const place of places) world.start(place, { keepsId: true })
    await world.clock.pass(lookMs)
    open = await openRuns(world)
  } while (open.length > 0 && world.broken.length === 0 && world.clock.now() < end)
  if (open.length > 0)
    world.breaks(`${settlingMs / 60_000} minutes after the last fault these runs are not over: ${open.join(", ")}`)
}

const openRuns = async (world: World): Promise<string[]> => {
  const rows = await world.db.rows<{ run_id: string }>(
    sql`select run_id from runs where status in ('pending', 'running') order by seq`,
  )
  return rows.map(({ run_id }) => run_id)
}

/**
 * Nothing fails, but messages are lost, and a server dies, or is suspended: whoever has heard nothing looks by itself, in the
 * time that is promised.
 */
async function actInCalm(world: World, clients: Clients): Promise<void> {
  // A run may have killed its server after the last fault. A younger server judges no leases.
  for (const place of places) world.start(place, { keepsId: true })
  await world.clock.pass(leaseMs * rateMost + sweepMs)
  const room = places.reduce<number>((sum, place) => sum + (world.at(place)?.slots ?? 0), 0)
  // All servers have heard of the first one when it is due.
  const delays = [world.random.between(8, 20) * 1000, 0, 0].slice(0, room)
  const asks = delays.map((afterMs) => ask(world, clients, afterMs))
  const isStarted = ({ runId }: Ask) => world.executionOf(runId) !== undefined
  await within(world, "R8: a run waits although a server has room", asks, (it) => it.afterMs || sweepMs, isStarted)
  await stopAll(world, clients, asks)
  if (world.broken.length > 0) return

  const lost = ask(world, clients, 0)
  await within(world, "R8: a run waits although a server has room", [lost], () => sweepMs, isStarted)
  const holder = world.executionOf(lost.runId)?.server
  if (!holder) return
  // All leases end at once.
  if (world.random.below(2) === 0) world.jump(40_000)
  await world.clock.pass(2 * sweepMs)
  const backAtMs = world.clock.now() + takenWithinMs + 2 * sweepMs
  if (world.random.below(2) === 0) world.kill(holder.place)
  else holder.suspend(backAtMs - world.clock.now())
  const isTaken = ({ runId }: Ask) => (world.executionOf(runId)?.server ?? holder) !== holder
  await within(world, "R12: the run of a dead server was not taken back", [lost], () => takenWithinMs, isTaken)
  // A server that was suspended wakes up, and writes.
  await world.clock.pass(backAtMs + sweepMs - world.clock.now())
  await stopAll(world, clients, [lost])
}

/** The server that is asked has the least room, so the others must hear of the run. */
function ask(world: World, clients: Clients, afterMs: number): Ask {
  const server = world.at(0)
  if (!server) throw new Error("the first server has not been started")
  return clients.create(server, { strategy: "enqueue", temper: "waiting", threadId: world.uuid(), afterMs })
}

/** Lets time pass until something holds of each run, or its time is over. */
async function within(
  world: World,
  what: string,
  asks: readonly Ask[],
  allowedMs: (ask: Ask) => number,
  holds: (ask: Ask) => boolean,
): Promise<void> {
  const since = world.clock.now()
  while (world.broken.length === 0 && !asks.every(holds)) {
    await world.clock.pass(500)
    const tookMs = world.clock.now() - since
    for (const it of asks)
      if (!holds(it) && tookMs > allowedMs(it) * rateMost + slackMs)
        world.breaks(`${what} for more than ${allowedMs(it)} ms: ${it.runId}`)
  }
}

async function stopAll(world: World, clients: Clients, asks: readonly Ask[]): Promise<void> {
  if (world.broken.length > 0) return
  for (const it of asks) {
    const server = world.random.pick(places.flatMap((place) => world.at(place) ?? []))
    clients.stop(server, it, "interrupt")
  }
  await world.clock.pass(renewMs * rateMost + slackMs)
  const open = await openRuns(world)
  if (open.length > 0)
    world.breaks(`X4: runs that were cancelled go on for more than ${renewMs} ms: ${open.join(", ")}`)
}
