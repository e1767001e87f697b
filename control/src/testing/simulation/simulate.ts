/** A whole run of a simulation: a seed gives the history, and the same seed gives the same one. README.md says what is checked. */
import { sql } from "@superstep/toolkit/db/sql"
import { longestCallMs } from "@superstep/toolkit/testing/simulation/faults"
import type { Outcome } from "@superstep/toolkit/testing/simulation/histories"
import type { Session } from "@superstep/toolkit/testing/simulation/simulated-session"
import { type Act, actOnce, addDeployment, type Client, deploy, promoteCanary, restart } from "./clients.js"
import { calm, unsettled } from "./end-state.js"
import { World } from "./world.js"

// Twice the longest watch, back-off, start and drain, one after the other.
const settlingMs = 20 * 60_000
const lookMs = 5000
// A little more than the slowest unit takes to be ready (`clients.ts`); replicas restart one after the other.
const slowestStartMs = 90_000

/**
 * @param session  of a database that `ownTheTime` has prepared; all its rows are deleted
 * @param tell      takes a line for each event
 */
export async function simulate(
  session: Session,
  seed: number,
  tell: (line: string) => void = () => undefined,
): Promise<Outcome> {
  await session.run(sql`truncate workspaces restart identity cascade`)
  await session.run(sql`update edge_tables set generation = 0`)
  const world = new World(seed, session, tell)
  const { random, clock } = world
  const clients: Client[] = []
  for (let count = random.between(1, 3); count > 0; count--) clients.push(await addDeployment(world))
  for (const client of clients) await deploy(world, client, { trigger: "create", weight: null })
  void world.startControlPlane()
  const events = random.between(10, 60)
  const longestMs = random.pick([2000, 20_000, 60_000])
  for (let event = 0; event < events && world.broken.length === 0; event++) {
    await clock.pass(random.between(1, longestMs))
    await actOnce(world, clients)
  }
  if (world.broken.length === 0) await comeToRest(world, clients)
  await clock.pass(longestCallMs)
  for (const client of clients) if (world.broken.length === 0) await changeInCalm(world, client)
  world.end()
  return { seed, broken: world.broken, simulatedMs: clock.now(), counts: clock.counts }
}

/** Revisions whose next stage could have started a second ago: in calm each wake-up arrives, so none waits for a safety pass. */
const overdue = (world: World): Promise<{ stage: string }[]> =>
  world.db.rows(sql`
    select stage from revisions
    where stage is not null and lease_owner is null and not_before < superstep_now() - interval '1 second'`)

async function comeToRest(world: World, clients: readonly Client[]): Promise<void> {
  world.tell("— faults stop")
  const end = world.clock.now() + settlingMs
  let problems: string[] = []
  do {
    calm(world, clients)
    await world.clock.pass(lookMs)
    problems = (await Promise.all(clients.map((client) => unsettled(world, client)))).flat()
  } while (problems.length > 0 && world.broken.length === 0 && world.clock.now() < end)
  if (world.broken.length > 0) return
  for (const problem of problems) world.breaks(`${settlingMs / 60_000} minutes after the last fault: ${problem}`)
}

/** While nothing fails, a deployment that does not sleep has a ready unit at each step of a deploy, a restart and a canary's promotion. */
async function changeInCalm(world: World, client: Client): Promise<void> {
  const { clock, edge, units } = world
  const isServing = () =>
    edge.routeOf(client.deploymentId)?.units.some(({ unit_id }) => units.all.get(unit_id)?.isReady) ?? false
  if (client.config.deployment_type !== "prod" || !isServing()) return
  const watched = async (what: string, ms: number, change: Act) => {
    if (world.broken.length > 0) return
    world.tell(`— in calm: ${what}`, client.deploymentId)
    await change(world, client)
    const end = clock.now() + ms
    while (clock.now() < end && world.broken.length === 0) {
      await clock.pass(Math.min(lookMs, end - clock.now()), () => {
        if (world.broken.length === 0 && !isServing())
          world.breaks(`no unit gets requests during ${what}, while nothing fails`)
      })
      for (const { stage } of await overdue(world))
        world.breaks(`the stage "${stage}" waits during ${what}, and could start`)
    }
    if (world.broken.length > 0) return
    for (const problem of await unsettled(world, client))
      world.breaks(`${ms / 1000} s after ${what} in calm: ${problem}`)
  }
  const replicas = edge.routeOf(client.deploymentId)?.units.length ?? 0
  if (replicas > 1) await watched("a restart", replicas * slowestStartMs, restart)
  await watched("a deploy", 300_000, (_, it) => deploy(world, it, { trigger: "patch", weight: null }))
  world.onPoint = (name) => {
    const { traffic } = units.stateOf(client.deploymentId)
    if (name === "switch:after-advance" && !traffic.some(({ weight }) => weight === 20))
      world.breaks("a canary is DEPLOYED before it gets its share of the threads")
  }
  await watched("a canary", 120_000, (_, it) => deploy(world, it, { trigger: "patch", weight: 20 }))
  world.onPoint = () => undefined
  await watched("a promotion", 300_000, promoteCanary)
}
