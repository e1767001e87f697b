/** HTTP for the state of the installation as JSON: what an operator looks at first. The whole is in Prometheus' text. */
import { z } from "@hono/zod-openapi"
import type { Database } from "@superstep/toolkit/db/database"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { requireOperator } from "../access/authenticate.js"
import { whyBackupLate } from "../backups/late.js"
import { backupState } from "../backups/queries.js"
import { certificateExpiries, renewalFailures } from "../host-names/certificate-queries.js"
import { forwardingState } from "../log-forwarding/queries.js"
import { whyForwardingStuck } from "../log-forwarding/stuck.js"
import { whyStuck } from "../revisions/progress.js"
import { pipelineProgress } from "../revisions/progress-queries.js"
import { machineView, type Place } from "./machine.js"
import { whyCertificateDue, whyConnectionsShort, whyDiskFull, whyNotRenewed } from "./problems.js"
import { stateCounts } from "./queries.js"

const count = z.object({ kind: z.string(), state: z.string(), count: z.int() })

const systemReply = z
  .object({
    problems: z.array(z.string()).openapi({ description: "what an operator should look at; empty when all is well" }),
    started_at: z.iso.datetime().openapi({ description: "when the control plane started" }),
    pipeline: z.object({
      waiting: z.int().openapi({ description: "revisions that could be worked on, and are not" }),
      oldest_waiting_seconds: z.number(),
      in_progress: z.int(),
    }),
    counts: z.array(count).openapi({ description: "deployments, unfinished revisions, units, deliveries; by state" }),
    disk: z.object({ free_bytes: z.int(), size_bytes: z.int() }),
    database_connections: z.object({
      used: z.int(),
      most: z.int().openapi({ description: "as many as the server accepts" }),
    }),
    certificates: z.array(
      z.object({
        host_name: z.string().nullable().openapi({ description: "null: of the platform itself" }),
        expires_at: z.iso.datetime(),
      }),
    ),
    backups: z
      .object({ last_success_seconds_ago: z.number().nullable(), last_size_bytes: z.int().nullable() })
      .nullable()
      .openapi({ description: "null without a schedule" }),
    log_forwarding: z
      .object({ sent_lines: z.int(), rejected_lines: z.int(), lost_lines: z.int(), failing_seconds: z.number() })
      .nullable()
      .openapi({ description: "null without a sink" }),
  })
  .openapi("System")

export interface SystemRoutes {
  readonly db: Database
  readonly place: Place
  /** How long the pipeline has been running, in milliseconds. */
  readonly upMs: () => number
  /** What the work in the background fails at, in words. */
  readonly failing: () => Promise<readonly string[]>
}

export function addSystemRoute(api: Api, options: SystemRoutes): void {
  addRoute(api, {
    method: "get",
    path: "/v2/system",
    summary: "Returns the state of the installation; requires a key of the installation.",
    responses: {
      200: { description: "the state", schema: systemReply },
      403: { description: "the key is not of the installation" },
    },
    handle: async ({ c }) => {
      requireOperator(c, "state of the installation")
      return c.json(await systemState(options))
    },
  })
}

async function systemState({ db, place, upMs, failing }: SystemRoutes): Promise<z.input<typeof systemReply>> {
  const [counts, progress, machine, forwarding, backups, hostNames, notRenewed] = await Promise.all([
    stateCounts(db),
    pipelineProgress(db),
    machineView(db, place),
    forwardingState(db),
    backupState(db),
    certificateExpiries(db),
    renewalFailures(db),
  ])
  const own = machine.certificateExpiresAt
  const certificates = [
    ...(own === undefined ? [] : [{ host_name: null, expires_at: own }]),
    ...hostNames.map(({ host_name, expires_at }) => ({ host_name, expires_at })),
  ]
  const problems = [
    whyStuck(progress, upMs()),
    ...(await failing()),
    whyForwardingStuck(forwarding),
    whyBackupLate(backups),
    whyDiskFull(machine.disk.freeBytes),
    whyConnectionsShort(machine.connections),
    whyCertificateDue(own, Date.now() / 1000),
    ...notRenewed.map(whyNotRenewed),
  ]
  return {
    problems: problems.filter((problem) => problem !== undefined),
    started_at: new Date(performance.timeOrigin).toISOString(),
    pipeline: {
      waiting: progress.waiting,
      oldest_waiting_seconds: progress.oldest_waiting_ms / 1000,
      in_progress: progress.claimed,
    },
    counts,
    disk: { free_bytes: machine.disk.freeBytes, size_bytes: machine.disk.sizeBytes },
    database_connections: machine.connections,
    certificates: certificates.map((it) => ({ ...it, expires_at: new Date(it.expires_at * 1000).toISOString() })),
    backups: backups
      ? { last_success_seconds_ago: backups.age_seconds, last_size_bytes: backups.last_size_bytes }
      : null,
    log_forwarding: forwarding ?? null,
  }
}
