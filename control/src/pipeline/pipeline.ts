/**
 * The loop that works on revisions. It owns the claims of this process: takes them, renews them, and returns them when it
 * stops. P1 a stage runs only under a claim; P2 when the claim is lost, the stage's signal aborts; P3 it sleeps until a
 * notification, until a waiting revision is due, or shortly when one is locked, and checks every `safetyMs` in case a notification was lost; P4 `stop`
 * resolves when no stage runs any more.
 */
import { availableParallelism } from "node:os"
import { type Repeated, repeated } from "@superstep/toolkit/exec/repeated"
import { deploymentById } from "../deployments/carried-queries.js"
import type { PipelineContext } from "../planner/context.js"
import {
  admitRevisions,
  advance,
  type Claim,
  type ClaimedRevision,
  ClaimLost,
  claimNextRevision,
  freeExpiredClaims,
  hasUnfinished,
  nextTurnMs,
  noteWaiting,
  type OpenStages,
  releaseClaim,
  renewClaims,
  skipSuperseded,
  waitInStage,
} from "../revisions/claims.js"
import { type Stage, shownMessage, stages } from "../revisions/revision.js"
import { wakePipeline } from "../revisions/wake-up.js"
import { endInFailure } from "./end-in-failure.js"
import { judge } from "./failures.js"
import type { StageOutcome } from "./stage.js"
import { stageRunners } from "./stages.js"

// A process that hangs loses its revisions after this time; a healthy one renews three times before.
const leaseMs = 30_000
const renewMs = 10_000
const safetyMs = 10_000
// The statement that has locked a revision mostly ends at once; one that waits itself may take minutes.
const leastLockedMs = 25
const mostLockedMs = 1000
// Of each stage but the build. They mostly wait for the network or for a unit's start, and many starts at once would slow down all.
const mostOfAStage = 8
// More of them, for workspaces that have none in the stage: what others wait for does not stop them.
const reservedOfAStage = 24
const deathsAllowed = 3

export interface Pipeline {
  /** Something has changed: look for work, and check whether our claims are still valid. */
  wake(): void
  stop(): Promise<void>
}

interface Work {
  readonly revision: ClaimedRevision
  readonly aborter: AbortController
  readonly done: Promise<void>
}

/** @param owner  names this process in claims: `<home id>/<anything>` */
export function startPipeline(context: PipelineContext, owner: string): Pipeline {
  const { db, log, clock } = context
  const works = new Map<string, Work>()
  let isStopping = false
  let lockedMs = leastLockedMs

  const look = async (): Promise<void> => {
    try {
      // Most looks of a quiet platform end here.
      if (works.size === 0 && !(await hasUnfinished(db))) return
      await renew()
      await takeWork()
    } catch (err) {
      log.error({ err }, "the pipeline could not look for work")
    }
  }
  const passes: Repeated = repeated(look, safetyMs, { clock })

  const takeWork = async () => {
    await freeExpiredClaims(db)
    await admitRevisions(db)
    // The process that works on one of them notices at once, and stops its build or unit.
    if ((await skipSuperseded(db)) > 0) await wakePipeline(db, "superseded")
    while (!isStopping) {
      const open = openStages(
        [...works.values()].map(({ revision }) => revision.stage),
        context.limits.builds,
      )
      const room = { open, builds: context.limits.buildsOfAWorkspace }
      const revision = await claimNextRevision(db, { owner, leaseMs, ...room })
      if (!revision) {
        await noteWaiting(db, room)
        const dueMs = await nextTurnMs(db, room)
        lockedMs = dueMs === 0 ? Math.min(2 * lockedMs, mostLockedMs) : leastLockedMs
        if (dueMs !== undefined) passes.wakeWithin(dueMs === 0 ? lockedMs : dueMs + 5)
        return
      }
      begin(revision)
    }
  }

  const begin = (revision: ClaimedRevision) => {
    const aborter = new AbortController()
    const done = runClaimed(context, revision, aborter.signal).finally(() => {
      works.delete(revision.revision_id)
      passes.wake()
    })
    works.set(revision.revision_id, { revision, aborter, done })
  }

  const renew = async () => {
    const held = [...works.values()]
    if (held.length === 0) return
    const ours = await renewClaims(
      db,
      held.map(({ revision }): Claim => revision),
      leaseMs,
    )
    for (const { revision, aborter } of held) {
      if (!ours.has(revision.revision_id)) aborter.abort(new ClaimLost(revision.revision_id))
    }
  }

  const beat = () => renew().catch((err: unknown) => log.error({ err }, "claims could not be renewed"))
  const heartbeat = repeated(beat, renewMs, { clock })
  heartbeat.wake()

  const stop = async () => {
    isStopping = true
    await Promise.all([heartbeat.stop(), passes.stop()])
    for (const { aborter } of works.values()) aborter.abort(new PipelineStopped())
    await Promise.all([...works.values()].map(({ done }) => done))
  }
  return { wake: passes.wake, stop }
}

class PipelineStopped extends Error {
  override readonly name = "PipelineStopped"
}

/**
 * The stages that may start now. Builds use whole processors: there is one more than `builds` at most, of a workspace that has none
 * under way. Pure.
 */
export function openStages(running: readonly Stage[], builds: number): OpenStages {
  const withRoom = (more: (stage: Stage) => number) =>
    stages.filter((stage) => {
      const most = stage === "build" ? builds : mostOfAStage
      return running.filter((it) => it === stage).length < most + more(stage)
    })
  return { all: withRoom(() => 0), reserved: withRoom((stage) => (stage === "build" ? 1 : reservedOfAStage)) }
}

export const defaultBuilds = (): number => Math.max(1, Math.floor(availableParallelism() / 2))

/** Runs one stage of a claimed revision and stores the outcome. Never throws. */
async function runClaimed(context: PipelineContext, revision: ClaimedRevision, signal: AbortSignal): Promise<void> {
  const facts = { revision_id: revision.revision_id, deployment_id: revision.deployment_id, stage: revision.stage }
  try {
    if (revision.stage_deaths >= deathsAllowed) {
      const message = `the platform ended ${revision.stage_deaths} times in the stage "${revision.stage}"`
      await endInFailure(context, revision, { code: "crash_loop_guard", message })
      return
    }
    await store(context, revision, await runStage(context, revision, signal))
  } catch (error) {
    if (error instanceof ClaimLost || signal.reason instanceof ClaimLost) {
      context.log.info(facts, "the revision was taken from us")
    } else if (signal.aborted) {
      await releaseClaim(context.db, revision).catch((err: unknown) =>
        context.log.warn({ ...facts, err }, "release failed"),
      )
    } else await afterError(context, revision, error)
  }
}

async function runStage(
  context: PipelineContext,
  revision: ClaimedRevision,
  signal: AbortSignal,
): Promise<StageOutcome> {
  const deployment = await deploymentById(context.db, revision.deployment_id)
  if (!deployment) throw new ClaimLost(revision.revision_id)
  return stageRunners[revision.stage]({ context, revision, deployment, signal })
}

async function store(
  { db, crashPoint }: PipelineContext,
  revision: ClaimedRevision,
  outcome: StageOutcome,
): Promise<void> {
  if (outcome.kind === "wait") {
    await waitInStage(db, revision, { delayMs: outcome.delayMs, isRetry: false, why: null })
    return
  }
  await advance(db, revision, outcome)
  crashPoint(`${revision.stage}:after-advance`)
}

async function afterError(context: PipelineContext, revision: ClaimedRevision, error: unknown): Promise<void> {
  const verdict = judge(error, revision)
  const facts = { revision_id: revision.revision_id, stage: revision.stage, err: error }
  try {
    if (verdict.kind === "fail") {
      context.log.info({ ...facts, error_code: verdict.code }, "revision failed")
      await endInFailure(context, revision, verdict)
    } else {
      context.log.warn(facts, "stage will be tried again")
      await waitInStage(context.db, revision, {
        delayMs: verdict.delayMs,
        isRetry: true,
        why: shownMessage(verdict.why),
      })
    }
  } catch (err) {
    // The claim was lost, or the database is away: then the lease expires, and the stage runs again.
    context.log.warn({ ...facts, err }, "the end of a stage could not be stored")
  }
}
