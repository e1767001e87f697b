/** `resource_spec`: every field of the original. Fields that no driver here supports are kept and shown (CP-D16). */
import { z } from "@hono/zod-openapi"
import { storageProblem } from "../http/fields.js"

/** Most units of a revision: each is a process with database connections of its own, and no machine has room for more. */
export const mostReplicas = 100

// The ranges of the original, for the container that serves (control-plane §1.3).
const cpu = z.number().min(0.1).max(8).nullish()
const cpuLimit = z.number().min(0.1).max(16).nullish()
const scale = z.int().min(0).max(mostReplicas).nullish()
// More than any machine has: values that we do not carry out are kept and shown, and must stay plausible numbers.
const cores = z.number().min(0).max(1024).nullish()
const megabytes = z.number().min(0).max(16_777_216).nullish()
// Below this the agent server of a unit does not start.
const leastUnitMb = 128
const unitMegabytes = z.number().min(leastUnitMb).max(16_777_216).nullish()
const gigabytes = z.number().min(0).max(65_536).nullish()
// The highest value that Postgres accepts.
const connections = z.int().min(0).max(262_143).nullish()
// A record with `z.string()` for its values has a problem for each wrong one, of a hundred thousand.
const texts = z
  .record(z.string(), z.unknown())
  .refine((it): it is Record<string, string> => Object.values(it).every((value) => typeof value === "string"), {
    error: "expected a text for each name",
  })
  .openapi({ type: "object", additionalProperties: { type: "string" } })
  .nullish()
/** Parts of a Kubernetes pod, in its own format. */
const parts = z.array(z.looseObject({})).nullish()

const resourceFields = {
  min_scale: scale,
  max_scale: scale,
  cpu,
  cpu_limit: cpuLimit,
  memory_mb: unitMegabytes,
  memory_limit_mb: unitMegabytes,
  queue_min_scale: scale,
  queue_max_scale: scale,
  queue_cpu: cores,
  queue_cpu_limit: cores,
  queue_memory_mb: megabytes,
  queue_memory_limit_mb: megabytes,
  orchestrator_scale: scale,
  orchestrator_cpu: cores,
  orchestrator_cpu_limit: cores,
  orchestrator_memory_mb: megabytes,
  orchestrator_memory_limit_mb: megabytes,
  executor_scale: scale,
  executor_cpu: cores,
  executor_cpu_limit: cores,
  executor_memory_mb: megabytes,
  executor_memory_limit_mb: megabytes,
  redis_cpu: cores,
  redis_cpu_limit: cores,
  redis_memory_mb: megabytes,
  redis_memory_limit_mb: megabytes,
  db_cpu: cores,
  db_cpu_limit: cores,
  db_memory_mb: megabytes,
  db_memory_limit_mb: megabytes,
  db_storage_gi: gigabytes,
  db_max_connections: connections,
  labels: texts,
  annotations: texts,
  service_account_name: z.string().nullish(),
  image_pull_secrets: z.array(z.looseObject({ name: z.string() })).nullish(),
  volumes: parts,
  volume_mounts: parts,
  init_containers: parts,
  sidecars: parts,
}

/** The form in a request. Unknown keys are kept: Terraform merges what it reads into what it writes. */
export const resourceSpec = z.looseObject(resourceFields).superRefine((value, ctx) => {
  const problem = storageProblem(value)
  if (problem) ctx.addIssue({ code: "custom", message: problem })
})

/** The form in a reply: as requested, with unknown keys. */
export const resourceSpecReply = z.looseObject(resourceFields).openapi("ResourceSpec")
