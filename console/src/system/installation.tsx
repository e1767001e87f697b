/** What only the operator sees: disk, connections, queue of revisions, certificates, backups. */
import { Badge } from "../frame/badge.js"
import { Section } from "../frame/section.js"
import { Ago } from "../frame/time.js"
import { durationText, sizeText } from "../frame/time-text.js"
import { expiryTone } from "./fullness.js"
import { Meter } from "./meter.js"

export interface System {
  readonly problems: readonly string[]
  readonly started_at: string
  readonly pipeline: {
    readonly waiting: number
    readonly oldest_waiting_seconds: number
    readonly in_progress: number
  }
  readonly counts: readonly { readonly kind: string; readonly state: string; readonly count: number }[]
  readonly disk: { readonly free_bytes: number; readonly size_bytes: number }
  readonly database_connections: { readonly used: number; readonly most: number }
  readonly certificates: readonly { readonly host_name: string | null; readonly expires_at: string }[]
  readonly backups: {
    readonly last_success_seconds_ago: number | null
    readonly last_size_bytes: number | null
  } | null
}

export function Installation({ system }: { system: System }) {
  const { disk, database_connections: connections, pipeline, backups, certificates, counts } = system
  const ofKind = (kind: string) =>
    counts
      .filter((it) => it.kind === kind)
      .map(({ state, count }) => `${count} ${state.toLowerCase().replaceAll("_", " ")}`)
      .join(", ")
  return (
    <Section title="Installation">
      <div className="system-meters">
        <Meter label="Disk" used={disk.size_bytes - disk.free_bytes} most={disk.size_bytes} text={sizeText} />
        <Meter label="Database connections" used={connections.used} most={connections.most} />
      </div>
      <dl className="card settings-facts system-facts">
        <dt>Control plane</dt>
        <dd>
          started <Ago at={system.started_at} />
        </dd>
        <dt>Revisions</dt>
        <dd>
          {pipeline.in_progress} in progress, {pipeline.waiting} waiting
          {pipeline.waiting > 0 && `, the oldest for ${durationText(pipeline.oldest_waiting_seconds * 1000)}`}
        </dd>
        <dt>Deployments</dt>
        <dd>{ofKind("deployments") || "none"}</dd>
        <dt>Processes</dt>
        <dd>{ofKind("units") || "none"}</dd>
        <dt>Backups</dt>
        <dd>
          {backups === null && "no schedule: set SUPERSTEP_BACKUP_SCHEDULE, or run superstep backup"}
          {backups !== null && backups.last_success_seconds_ago === null && "none yet"}
          {backups !== null &&
            backups.last_success_seconds_ago !== null &&
            `last one ${durationText(backups.last_success_seconds_ago * 1000)} ago, ${sizeText(backups.last_size_bytes ?? 0)}`}
        </dd>
        {certificates.map(({ host_name, expires_at }) => (
          <Certificate key={host_name ?? ""} hostName={host_name} expiresAt={expires_at} />
        ))}
      </dl>
    </Section>
  )
}

function Certificate({ hostName, expiresAt }: { hostName: string | null; expiresAt: string }) {
  return (
    <>
      <dt>Certificate</dt>
      <dd>
        {hostName ?? "of the platform"}{" "}
        <Badge tone={expiryTone(expiresAt, Date.now())}>
          expires <Ago at={expiresAt} />
        </Badge>
      </dd>
    </>
  )
}
