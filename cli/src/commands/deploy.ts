/** `superstep deploy`: deploys the project in a folder, or a git repository, to a platform. */

import { existsSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { basename, join, relative, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { KnownError } from "@superstep/toolkit/errors/errors"
import { shownLine } from "@superstep/toolkit/text/shown-line"
import { withoutEnd } from "@superstep/toolkit/text/without-end"
import { Option } from "commander"
import { mb, packProject } from "../archive/pack.js"
import type { CliCommand } from "../command-line/command.js"
import type { Config } from "../command-line/config.js"
import { type PlatformApi, platformApi } from "../platform/api.js"
import { type ConnectionOptions, connect, connectionOptions } from "../platform/connection.js"
import { type DeployReport, jsonReport, wordsReport } from "../platform/deploy-report.js"
import { type Deployment, lookUpDeployment } from "../platform/deployments.js"
import { followToEnd } from "../platform/follow.js"
import { uploadArchive } from "../platform/upload.js"
import { commitOf, type FolderCommit } from "../project/commit.js"
import { readProject } from "../project/project.js"
import { type ProjectSecrets, readProjectSecrets } from "../project/project-secrets.js"
import { parseWeight } from "./traffic.js"

interface DeployOptions extends ConnectionOptions {
  readonly name?: string
  readonly message?: string
  readonly config: string
  readonly envFile?: string
  readonly repo?: string
  readonly ref: string
  readonly integration?: string
  readonly installCommand?: string
  readonly buildCommand?: string
  readonly type: string
  /** False: `--no-canary`. */
  readonly canary?: number | false
  readonly wait: boolean
  readonly verbose?: boolean
}

export class CannotDeploy extends KnownError {
  readonly code = "cannot_deploy"
}

export const deploy: CliCommand<DeployOptions> = {
  words: "deploy [folder]",
  summary: "deploy the project in a folder (default: this one), or a git repository",
  options: [
    new Option("--name <name>", "name of the deployment (default: the folder's name)"),
    new Option("-m, --message <text>", "what this revision is for, as lists of revisions show it"),
    new Option("--config <path>", "path of langgraph.json in the folder").default("langgraph.json"),
    new Option("--env-file <file>", "file with secrets, instead of `env` in langgraph.json"),
    new Option("--repo <url>", "deploy this git repository instead of the folder"),
    new Option("--ref <ref>", "branch, refs/tags/<tag> or commit, with --repo").default("main"),
    new Option("--integration <id>", "credentials for the repository, with --repo"),
    new Option("--install-command <command>", "instead of the one for the lock file"),
    new Option("--build-command <command>", "instead of the script `build`"),
    new Option("--type <type>", "deployment type of a new deployment").default("dev"),
    new Option("--canary <percent>", "this and later revisions get this percentage of the threads first").argParser(
      parseWeight,
    ),
    new Option("--no-canary", "this and later revisions take over at once"),
    new Option("--no-wait", "do not wait until it is deployed"),
    new Option("-v, --verbose", "show the build's log"),
    ...connectionOptions(),
  ],
  async run({ args, options, config, out, err }) {
    const platform = await connect(options, config)
    const api = platformApi(platform)
    const report = options.json ? jsonReport(out) : wordsReport(out, err)
    if (platform.foundIn !== undefined) report.step(`to the platform at ${platform.url}, which runs on this machine`)
    const folder = resolve(args[0] ?? ".")
    if (options.repo !== undefined) refusePath(options.repo)
    const name = options.name ?? nameOf(options.repo ?? folder)
    const deployment = options.repo
      ? await deployRepository(api, { name, options, repoUrl: options.repo, report, config })
      : await deployFolder(api, { name, options, folder, report, config })
    if (options.wait) return followToEnd(api, { deployment, report, verbose: options.verbose === true })
    report.result({
      deployment_id: deployment.id,
      revision_id: deployment.latest_revision_id,
      status: null,
      url: deployment.source_config.custom_url,
    })
  },
}

/** The platform may be on another machine, so a path is accepted only where it is marked as one. */
function refusePath(repo: string): void {
  const isPath = /^(\.{0,2}\/|\.{1,2}$|~)/.test(repo) || (!/[:@]/.test(repo) && existsSync(repo))
  if (!isPath) return
  const { href } = pathToFileURL(resolve(repo.replace(/^~(?=\/|$)/, homedir())))
  throw new CannotDeploy(`${repo} is a path: if the platform runs on this machine, use --repo ${href}`)
}

interface Deploy {
  readonly name: string
  readonly options: DeployOptions
  readonly report: DeployReport
  readonly config: Config
}

/** @returns  the deployment with the revision that was created */
async function deployFolder(
  api: PlatformApi,
  { name, options, folder, report, config }: Deploy & { folder: string },
): Promise<Deployment> {
  const project = await readProject(join(folder, options.config))
  const { environment } = config
  const secrets = readProjectSecrets({ folder: project.folder, env: project.env, environment }, options.envFile)
  tellReserved(secrets, report)
  const temporary = await mkdtemp(join(tmpdir(), "superstep-deploy-"))
  try {
    const archive = join(temporary, "project.tar.gz")
    const { files, bytes, links } = await packProject(folder, archive)
    if (links.length > 0) report.warn(`symbolic links are not deployed: ${links.join(", ")}`)
    report.step(`packed ${files} files, ${mb(bytes)}`)
    const commit = await commitOf(folder, { environment, warn: (message) => report.warn(message) })
    if (commit) report.step(commitWords(commit))
    const deployment = (await lookUpDeployment(api, name)) ?? (await createEmpty(api, { name, options, report }))
    const source_tarball_path = await uploadArchive(api, deployment.id, archive)
    report.step("uploaded")
    const langgraph_config_path = relative(folder, project.configPath).replaceAll("\\", "/")
    return await api.send<Deployment>("PATCH", `/v2/deployments/${deployment.id}`, {
      body: {
        revision_source: "internal_source",
        ...settingsOf(options),
        source_revision_config: { source_tarball_path, langgraph_config_path, ...(commit && { commit }) },
        ...messageOf(options),
        ...sent(secrets),
      },
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

/** An uploaded source has nothing to build before the upload, so this creates no revision yet. */
async function createEmpty(api: PlatformApi, { name, options, report }: Omit<Deploy, "config">): Promise<Deployment> {
  const body = {
    name,
    source: "internal_source",
    source_config: { deployment_type: options.type },
    source_revision_config: {},
    secrets: [],
  }
  const deployment = await api.send<Deployment>("POST", "/v2/deployments", { body })
  report.step(`created the deployment ${name}`)
  return deployment
}

async function deployRepository(
  api: PlatformApi,
  { name, options, repoUrl, report, config }: Deploy & { repoUrl: string },
): Promise<Deployment> {
  const { environment } = config
  const secrets = readProjectSecrets({ folder: ".", env: undefined, environment }, options.envFile)
  tellReserved(secrets, report)
  const source_revision_config = { repo_ref: options.ref, langgraph_config_path: options.config }
  const known = await lookUpDeployment(api, name)
  if (known) {
    if (known.source_config.repo_url !== repoUrl)
      throw new CannotDeploy(
        `${name} is deployed from ${known.source_config.repo_url ?? known.source}, which cannot be changed: choose another --name`,
      )
    const body = { ...settingsOf(options), source_revision_config, ...messageOf(options), ...sent(secrets) }
    return api.send<Deployment>("PATCH", `/v2/deployments/${known.id}`, { body })
  }
  const source_config = {
    integration_id: options.integration ?? null,
    repo_url: repoUrl,
    deployment_type: options.type,
    build_on_push: false,
    ...settingsOf(options).source_config,
  }
  const code = { source: "github", source_config, source_revision_config }
  const body = { name, ...code, ...messageOf(options), secrets: secrets.secrets }
  const deployment = await api.send<Deployment>("POST", "/v2/deployments", { body })
  report.step(`created the deployment ${name}`)
  return deployment
}

const commitWords = ({ sha, branch, message, is_dirty }: FolderCommit): string =>
  shownLine(
    `at ${sha.slice(0, 7)}${branch === null ? "" : ` of ${branch}`}${is_dirty ? ", with changes" : ""}: ${message}`,
    120,
  )

const messageOf = ({ message }: { readonly message?: string }) => (message === undefined ? {} : { message })

/** Settings that are not given stay as they are. */
const settingsOf = ({ installCommand, buildCommand, canary }: DeployOptions) => ({
  source_config: {
    ...(installCommand !== undefined && { install_command: installCommand }),
    ...(buildCommand !== undefined && { build_command: buildCommand }),
    ...(typeof canary === "number" && { canary_weight: canary }),
  },
  ...(canary === false && { unset: ["source_config.canary_weight"] }),
})

/** Without secrets, the deployment keeps its present ones. */
const sent = ({ secrets }: ProjectSecrets) => (secrets.length === 0 ? {} : { secrets })

function tellReserved({ reserved }: ProjectSecrets, report: DeployReport): void {
  if (reserved.length > 0)
    report.warn(`these variables are not sent, since the platform sets them itself: ${reserved.join(", ")}`)
}

const longestName = 63

/** A name that the platform accepts: lower-case letters, digits and `-`, starting with a letter. */
function nameOf(place: string): string {
  const last = basename(withoutEnd(place.replace(/\.git$/, ""), "/\\"))
  const slug = last
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^[^a-z]+/, "")
    .slice(0, longestName)
  return withoutEnd(slug, "-") || "app"
}
