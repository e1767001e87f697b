/** The format of requests and replies about deployments. */
import { z } from "@hono/zod-openapi"
import { healths, runStates } from "../health/health.js"
import { commaSeparated, optionalParameter, text, trueOrFalse, uuid } from "../http/fields.js"
import { pageQuery } from "../http/page.js"
import { repliesOf } from "../revisions/field.js"
import { sourceRevisionConfigReply } from "../revisions/schema.js"
import { deploymentTypes, sourceConfigFields, sources } from "../revisions/source-config.js"
import { unsettable } from "./change.js"
import { agentEnvironments, deploymentStatuses } from "./deployment.js"
import { changeFields, configFields, message, secrets } from "./fields.js"
import { resourceTierNames } from "./resource-tiers.js"

/** Lower-case letters, digits and dashes; starts with a letter, and becomes part of a public URL (CP-D2). */
const deploymentName = z
  .string()
  .regex(
    /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/,
    "expected at most 63 lower-case letters, digits and dashes, a letter first and no dash last",
  )

const agentId = text.min(1).max(255)
const agentEnvironment = z.enum(agentEnvironments)

export const createFields = {
  name: deploymentName.nullish().openapi({ description: "required, unless agent_id is given" }),
  source: z.enum(sources),
  ...configFields,
  secrets: secrets.nullish(),
  agent_id: agentId.nullish(),
  agent_environment: agentEnvironment.nullish(),
  agent: z
    .object({ agent_id: agentId, environment: agentEnvironment })
    .nullish()
    .openapi({ description: "another spelling of agent_id and agent_environment" }),
}

const createObject = z.object(createFields)

const namedAgent = ({ agent, ...body }: z.output<typeof createObject>) => ({
  id: body.agent_id ?? agent?.agent_id,
  environment: body.agent_environment ?? agent?.environment,
})

/** Merges the two spellings of the agent. */
export const createBody = createObject
  .superRefine((body, ctx) => {
    const problem = (field: string, message: string) => ctx.addIssue({ code: "custom", path: [field], message })
    const required = "this field is required"
    const { id, environment } = namedAgent(body)
    if (!body.name && !id) problem("name", required)
    if (id && !environment) problem("agent_environment", required)
    if (environment && !id) problem("agent_id", required)
    if (body.agent && (body.agent.agent_id !== id || body.agent.environment !== environment)) {
      problem("agent", "differs from agent_id and agent_environment: send one of the two spellings")
    }
  })
  .transform((body) => {
    const { id, environment } = namedAgent(body)
    return { ...body, agent: id && environment ? { id, environment } : undefined }
  })

export const patchFields = {
  ...changeFields,
  display_name: text.min(1).max(255).nullish(),
  revision_source: z.enum(["internal_docker", "internal_source"]).nullish(),
  tracked_packages: z.array(z.string()).nullish(),
  unset: z
    .array(z.enum(unsettable))
    .nullish()
    .openapi({ description: "fields to clear, since null keeps the present value" }),
}
export const patchBody = z.object(patchFields)

export const listQuery = z.object({
  ...pageQuery,
  name: optionalParameter(text),
  name_contains: optionalParameter(text),
  status: optionalParameter(z.enum(deploymentStatuses)),
  deployment_type: optionalParameter(z.enum(deploymentTypes)),
  deployment_ids: optionalParameter(commaSeparated.pipe(z.array(uuid))).openapi({
    description: "ids, separated by commas",
  }),
  image_version: optionalParameter(text),
  remote_reconciled: optionalParameter(trueOrFalse),
  tag_value_ids: optionalParameter(commaSeparated).openapi({ description: "ids, separated by commas" }),
  agent_id: optionalParameter(text),
  agent_environment: optionalParameter(z.enum(agentEnvironments)),
})

export const deleteQuery = z.object({
  delete_tracing_project: optionalParameter(trueOrFalse),
  force: optionalParameter(trueOrFalse).openapi({ description: "only for a deployment that is being deleted already" }),
})

export const bulkDeleteQuery = z.object({
  deployment_ids: commaSeparated
    .pipe(z.array(uuid).min(1).max(100))
    .openapi({ description: "at most 100 ids, separated by commas" }),
  ...deleteQuery.shape,
})

export const bulkDeleteReply = z.object({
  results: z.array(z.object({ id: z.string(), status: z.int(), detail: z.string().nullable() })),
})

export const resourceTiersFields = {
  compute_tier: z.enum(resourceTierNames).nullish(),
  database_tier: z.enum(resourceTierNames).nullish(),
}
export const resourceTiersBody = z
  .object(resourceTiersFields)
  .refine(({ compute_tier, database_tier }) => compute_tier || database_tier, "expected compute_tier or database_tier")

export const deploymentTierFields = { deployment_type: z.enum(deploymentTypes) }
export const deploymentTierBody = z.object(deploymentTierFields)

export const rollbackFields = {
  revision_id: uuid
    .nullish()
    .openapi({ description: "the revision to restore; default the last good one before the one that serves" }),
  message,
}
export const rollbackBody = z.object(rollbackFields)

const nullableText = z.string().nullable()

const sourceConfigReply = z.object({
  ...repliesOf(sourceConfigFields),
  repo_branch: nullableText.openapi({ description: "the configured branch" }),
})

export const deploymentReply = z
  .object({
    id: z.string(),
    tenant_id: z.string(),
    name: z.string(),
    display_name: nullableText,
    source: z.enum(sources),
    source_config: sourceConfigReply,
    source_revision_config: sourceRevisionConfigReply,
    secrets: z.array(z.object({ name: z.string(), value: z.string() })),
    secret_references: z.array(z.object({ name: z.string(), secret_name: z.string(), secret_key: z.string() })),
    status: z.enum(deploymentStatuses),
    latest_revision_id: nullableText,
    active_revision_id: nullableText,
    image_version: nullableText,
    is_preview: z.boolean(),
    agent_id: nullableText,
    agent_environment: nullableText,
    run_state: z
      .enum(runStates)
      .openapi({ description: "asleep: the next request wakes it; paused: stopped by its owner" }),
    health: z
      .enum(healths)
      .nullable()
      .openapi({ description: "what a caller would get now; null when no revision serves" }),
    is_restarting: z
      .boolean()
      .openapi({ description: "whether a requested restart has not replaced all processes yet" }),
    created_at: z.iso.datetime(),
    updated_at: z.iso.datetime(),
  })
  .openapi("Deployment")
