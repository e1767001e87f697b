/** HTTP for actions on a deployment beyond a PATCH: tiers, rollback, pause, resume, restart, push tokens. */
import { z } from "@hono/zod-openapi"
import type { Db } from "@superstep/toolkit/db/database"
import { Refused } from "@superstep/toolkit/errors/errors"
import { type Api, addRoute } from "@superstep/toolkit/http/route"
import { actorOf } from "../access/authenticate.js"
import { ignoredFieldsOf, setIgnoredFieldsHeader } from "../http/ignored-fields.js"
import {
  answerWithDeployment,
  changeRefusals,
  type DeploymentRoutes,
  ifMatch,
  notFound,
  onePath,
  oneReply,
} from "./answer.js"
import { setDeploymentType, setResourceTiers } from "./change.js"
import type { DeploymentIds } from "./hold.js"
import { findDeployment } from "./operations.js"
import type { DeploymentRow } from "./queries.js"
import { rollBack } from "./repeat.js"
import { restart, setRunState } from "./run-state.js"
import {
  deploymentTierBody,
  deploymentTierFields,
  resourceTiersBody,
  resourceTiersFields,
  rollbackBody,
  rollbackFields,
} from "./schema.js"

export function addDeploymentActions(api: Api, options: DeploymentRoutes): void {
  addTiers(api, options)
  addRollback(api, options)
  addRunStates(api, options)
  addPushToken(api, options)
}

interface Asked {
  readonly ids: DeploymentIds
  readonly expectedVersions: number[] | undefined
  readonly actor: string
}

interface Action<B extends z.ZodType> {
  readonly method: "post" | "patch"
  /** The path after the deployment's own address. */
  readonly name: string
  readonly summary: string
  readonly refusals?: Readonly<Record<number, { description: string }>>
  readonly body: B
  readonly fields: z.ZodRawShape
  /** The log message. */
  readonly done: string
  readonly act: (tx: Db, body: z.output<B>, asked: Asked) => Promise<DeploymentRow>
}

/** Each action is one operation on the deployment; the answer is its new state. */
function addAction<B extends z.ZodType>(api: Api, options: DeploymentRoutes, action: Action<B>): void {
  addRoute(api, {
    method: action.method,
    path: `${onePath.path}/${action.name}`,
    params: onePath.params,
    summary: action.summary,
    body: action.body,
    responses: { 200: oneReply, ...changeRefusals, ...action.refusals },
    handle: ({ c, params, body, bodyText }) => {
      const caller = c.get("caller")
      const ids = { workspaceId: caller.workspaceId, deploymentId: params.deployment_id }
      const asked = { ids, expectedVersions: ifMatch(c), actor: actorOf(caller) }
      setIgnoredFieldsHeader(c, ignoredFieldsOf(bodyText, action.fields))
      return answerWithDeployment(options, { c, bodyText, status: 200, done: action.done }, (tx) =>
        action.act(tx, body as z.output<B>, asked),
      )
    },
  })
}

function addTiers(api: Api, options: DeploymentRoutes): void {
  addAction(api, options, {
    method: "patch",
    name: "resource-tiers",
    summary: "Sets a deployment's resources by tier name; creates a revision with them.",
    body: resourceTiersBody,
    fields: resourceTiersFields,
    done: "resource tiers changed",
    act: (tx, body, { ids, ...asked }) => {
      const tiers = { computeTier: body.compute_tier ?? undefined, databaseTier: body.database_tier ?? undefined }
      return setResourceTiers(tx, options, ids, { ...tiers, ...asked })
    },
  })
  addAction(api, options, {
    method: "patch",
    name: "deployment-tier",
    summary: "Changes the deployment_type of a deployment; creates no revision.",
    refusals: { 400: { description: "a ready-made image has no type" } },
    body: deploymentTierBody,
    fields: deploymentTierFields,
    done: "deployment type changed",
    act: (tx, body, { ids, ...asked }) => setDeploymentType(tx, options, ids, { type: body.deployment_type, ...asked }),
  })
}

function addRollback(api: Api, options: DeploymentRoutes): void {
  addAction(api, options, {
    method: "post",
    name: "rollback",
    summary: "Rolls back to the last good revision or to a given one, by a new revision that reuses the artifact.",
    refusals: {
      409: {
        description:
          "there is no revision to roll back to, its secrets are deleted, or the deployment is being deleted",
      },
    },
    body: rollbackBody,
    fields: rollbackFields,
    done: "rollback requested",
    act: (tx, body, { ids, ...asked }) =>
      rollBack(tx, options, ids, {
        revisionId: body.revision_id ?? undefined,
        message: body.message ?? undefined,
        ...asked,
      }),
  })
}

const nothing = z.object({})

function addRunStates(api: Api, options: DeploymentRoutes): void {
  for (const [name, runState, summary] of [
    ["pause", "paused", "Stops the deployment's processes until it is resumed; its address answers 503."],
    ["resume", "running", "Starts a paused deployment again."],
  ] as const) {
    addAction(api, options, {
      method: "post",
      name,
      summary,
      body: nothing,
      fields: {},
      done: `deployment ${runState}`,
      act: (tx, _, { ids, expectedVersions }) => setRunState(tx, ids, { runState, expectedVersions }),
    })
  }
  addAction(api, options, {
    method: "post",
    name: "restart",
    summary: "Replaces the deployment's processes with new ones of the same revision.",
    refusals: { 409: { description: "it is paused, or being deleted" } },
    body: nothing,
    fields: {},
    done: "restart requested",
    act: (tx, _, { ids, expectedVersions }) => restart(tx, ids, { expectedVersions }),
  })
}

/** The CLI requests a token before it pushes an image; there is no registry to push to yet. */
function addPushToken(api: Api, { db }: DeploymentRoutes): void {
  addRoute(api, {
    method: "post",
    path: `${onePath.path}/push-token`,
    params: onePath.params,
    summary: "Answers 400: this release has no image registry to issue push tokens for.",
    body: nothing,
    responses: {
      400: { description: "this installation has no image registry, or the source is not an image" },
      ...notFound,
    },
    handle: async ({ c, params }) => {
      const { source } = await findDeployment(db, c.get("caller").workspaceId, params.deployment_id)
      if (source !== "internal_docker") {
        // The text that the Python CLI searches for (PyPI 0.4.40), to advise its user.
        const words = "push tokens are only available for 'internal_docker' source deployments"
        throw new Refused(words, "not_internal_docker")
      }
      const words = "this installation has no image registry: deploy with --remote, or from a git repository"
      throw new Refused(words, "no_registry")
    },
  })
}
