/** `rollback`, `interrupt`, `pause`, `resume`, `restart`: an operator's actions on a running deployment. */
import { Option } from "commander"
import type { CliCommand } from "../command-line/command.js"
import { withProgress } from "../output/progress.js"
import { platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { jsonReport, wordsReport } from "../platform/deploy-report.js"
import { type Deployment, findDeployment } from "../platform/deployments.js"
import { followToEnd } from "../platform/follow.js"
import { NotRestarted, untilRestarted } from "../platform/restart.js"

export const rollback: CliCommand<
  ConnectionOptions & { readonly to?: string; readonly message?: string; readonly wait: boolean }
> = {
  words: "rollback <deployment>",
  summary: "roll back to the previous revision, without a build",
  options: [
    new Option("--to <revision>", "the revision to restore (superstep revisions shows the ids)"),
    new Option("-m, --message <text>", "why, as lists of revisions show it (default: the message of that revision)"),
    new Option("--no-wait", "do not wait until it serves"),
    ...connectionOptions(),
  ],
  async run({ args, options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const { id } = await findDeployment(api, args[0] ?? "")
    const path =
      options.to === undefined
        ? `/v2/deployments/${id}/rollback`
        : `/v2/deployments/${id}/revisions/${options.to}/redeploy`
    const body = options.message === undefined ? {} : { message: options.message }
    const deployment = await api.send<Deployment>("POST", path, { body })
    const report = options.json ? jsonReport(out) : wordsReport(out, err)
    if (options.wait) return followToEnd(api, { deployment, report })
    const { latest_revision_id: revision_id, source_config } = deployment
    report.result({ deployment_id: id, revision_id, status: null, url: source_config.custom_url })
  },
}

export const interrupt: CliCommand<ConnectionOptions> = {
  words: "interrupt <deployment>",
  summary: "interrupt the revision that is being built or started",
  options: connectionOptions(),
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { id, name, latest_revision_id } = await findDeployment(api, args[0] ?? "")
    const revision = await api.send("POST", `/v2/deployments/${id}/revisions/${latest_revision_id}/interrupt`)
    out.line(options.json ? JSON.stringify(revision) : `${out.style("green", "✔")} ${name} is being interrupted`)
  },
}

/** The two commands differ only in one word. */
const toRunState = (word: "pause" | "resume", summary: string, done: string): CliCommand<ConnectionOptions> => ({
  words: `${word} <deployment>`,
  summary,
  options: connectionOptions(),
  async run({ args, options, config, out }) {
    const api = platformApi(await connect(options, config))
    const { id, name } = await findDeployment(api, args[0] ?? "")
    const deployment = await api.send<Deployment>("POST", `/v2/deployments/${id}/${word}`)
    out.line(options.json ? JSON.stringify(deployment) : `${out.style("green", "✔")} ${name} ${done}`)
  },
})

export const pause = toRunState("pause", "stop a deployment's agent servers; its data stays", "is being paused")
export const resume = toRunState("resume", "start a paused deployment", "is being started")

export const restart: CliCommand<ConnectionOptions & { readonly wait: boolean }> = {
  words: "restart <deployment>",
  summary: "replace a deployment's agent servers with new ones, without losing requests",
  options: [new Option("--no-wait", "do not wait until it answers"), ...connectionOptions()],
  async run({ args, options, config, out, err }) {
    const api = platformApi(await connect(options, config))
    const { id, name, active_revision_id } = await findDeployment(api, args[0] ?? "")
    if (active_revision_id === null)
      throw new NotRestarted(`no revision of ${name} is serving: there is nothing to restart`)
    const asked = await api.send<Deployment>("POST", `/v2/deployments/${id}/restart`)
    const waiting = () => withProgress(err, `waiting until ${name} answers`, () => untilRestarted(api, asked))
    const deployment = options.wait ? await waiting() : asked
    if (options.json) return out.line(JSON.stringify(deployment))
    const asleep = "sleeps: the next request starts a new agent server"
    const done = deployment.health === "asleep" ? asleep : "was restarted and answers"
    out.line(`${out.style("green", "✔")} ${name} ${options.wait ? done : "is being restarted"}`)
  },
}
