/** `traffic`, `promote`, `abort`: what becomes of a deployment's canary. */
import { KnownError } from "@superstep/toolkit/errors/errors"
import { InvalidArgumentError, Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { type PlatformApi, platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { type Deployment, findDeployment, isCanary, listRevisions, type Revision } from "../platform/deployments.js"

export class NoCanary extends KnownError {
  readonly code = "no_canary"
}

type Options = ConnectionOptions & { readonly revision?: string }

const revisionOption = (): Option => new Option("--revision <id>", "the canary (default: the deployment's only one)")

/** @throws InvalidArgumentError  with a message that commander appends to the option's name */
export function parseWeight(text: string): number {
  const weight = Number(text)
  if (/^\d{1,2}$/.test(text) && weight >= 1) return weight
  throw new InvalidArgumentError("expected a percentage from 1 to 99.")
}

export const traffic: CliCommand<Options> = {
  words: "traffic <deployment> <percent>",
  summary: "give a canary this percentage of the threads",
  options: [revisionOption(), ...connectionOptions()],
  async run({ args: [name = "", percent = ""], options, config, out }) {
    const weight = weightOf(percent)
    const api = platformApi(await connect(options, config))
    const { deployment, revisionId } = await findCanary(api, name, options.revision)
    const path = `/v2/deployments/${deployment.id}/revisions/${revisionId}/traffic`
    const revision = await api.send<Revision>("POST", path, { body: { weight } })
    out.line(
      options.json
        ? JSON.stringify(revision)
        : `${out.style("green", "✔")} ${revisionId} gets ${weight} % of the threads of ${deployment.name}`,
    )
  },
}

function weightOf(percent: string): number {
  try {
    return parseWeight(percent)
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    throw new NoCanary(`${percent} is no percentage from 1 to 99: to give it all threads, superstep promote`)
  }
}

/** The two commands differ only in a word. */
const decide = (word: "promote" | "abort", summary: string, done: string): CliCommand<Options> => ({
  words: `${word} <deployment>`,
  summary,
  options: [revisionOption(), ...connectionOptions()],
  async run({ args: [name = ""], options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { deployment, revisionId } = await findCanary(api, name, options.revision)
    const revision = await api.send("POST", `/v2/deployments/${deployment.id}/revisions/${revisionId}/${word}`)
    out.line(options.json ? JSON.stringify(revision) : `${out.style("green", "✔")} ${revisionId} ${done}`)
  },
})

export const promote = decide("promote", "let a canary take over", "is being promoted")
export const abort = decide("abort", "take all threads from a canary", "is being aborted")

// A canary is among the newest revisions: it ends when a later one takes over.
const searched = 20

/** @throws NoSuchDeployment | NoCanary */
async function findCanary(
  api: PlatformApi,
  name: string,
  revisionId: string | undefined,
): Promise<{ deployment: Deployment; revisionId: string }> {
  const deployment = await findDeployment(api, name)
  if (revisionId !== undefined) return { deployment, revisionId }
  const revisions = await listRevisions(api, deployment, searched)
  const canary = revisions.find((revision) => isCanary(revision, deployment))
  if (canary) return { deployment, revisionId: canary.id }
  throw new NoCanary(`${deployment.name} has no canary: superstep deploy --canary 10 makes one of a new revision`)
}
