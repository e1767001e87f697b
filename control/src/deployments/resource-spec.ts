/** `resource_spec`: every field that the original has. What no driver here can give is kept and shown (CP-D16). */
import { z } from "@hono/zod-openapi"
import { storageProblem } from "../http/fields.js"

const scale = z.int().min(0).nullish()
const number = z.number().min(0).nullish()
const cpu = z.number().min(0.1).max(8).nullish()
const cpuLimit = z.number().min(0.1).max(16).nullish()
const texts = z.record(z.string(), z.string()).nullish()
/** Parts of a Kubernetes pod, in its own words. */
const parts = z.array(z.looseObject({})).nullish()

const resourceFields = {
  min_scale: scale,
  max_scale: scale,
  cpu,
  cpu_limit: cpuLimit,
  memory_mb: number,
  memory_limit_mb: number,
  queue_min_scale: scale,
  queue_max_scale: scale,
  queue_cpu: number,
  queue_cpu_limit: number,
  queue_memory_mb: number,
  queue_memory_limit_mb: number,
  orchestrator_scale: scale,
  orchestrator_cpu: number,
  orchestrator_cpu_limit: number,
  orchestrator_memory_mb: number,
  orchestrator_memory_limit_mb: number,
  executor_scale: scale,
  executor_cpu: number,
  executor_cpu_limit: number,
  executor_memory_mb: number,
  executor_memory_limit_mb: number,
  redis_cpu: number,
  redis_cpu_limit: number,
  redis_memory_mb: number,
  redis_memory_limit_mb: number,
  db_cpu: number,
  db_cpu_limit: number,
  db_memory_mb: number,
  db_memory_limit_mb: number,
  db_storage_gi: number,
  db_max_connections: scale,
  labels: texts,
  annotations: texts,
  service_account_name: z.string().nullish(),
  image_pull_secrets: z.array(z.looseObject({ name: z.string() })).nullish(),
  volumes: parts,
  volume_mounts: parts,
  init_containers: parts,
  sidecars: parts,
}

/** As a request has it. Keys that we do not know are kept: Terraform merges what it reads into what it writes. */
export const resourceSpec = z.looseObject(resourceFields).superRefine((value, ctx) => {
  const problem = storageProblem(value)
  if (problem) ctx.addIssue({ code: "custom", message: problem })
})

/** As a reply shows it: what was asked for, with unknown keys. */
export const resourceSpecReply = z.looseObject(resourceFields).openapi("ResourceSpec")
