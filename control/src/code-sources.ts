/** Where code comes from, as the settings say it: git repositories and uploaded archives. */
import { type Config, gitProtocolsOf } from "./config.js"
import type { Folders } from "./home/folders.js"
import type { CodeLookup } from "./pipeline/locate.js"
import { archiveSource } from "./sources/archive.js"
import { archiveLimits } from "./sources/archive-reader.js"
import { type GitSettings, type GitSource, gitSource } from "./sources/git.js"
import type { SourceLimits } from "./sources/source-limits.js"

export interface CodeSettings {
  readonly config: Config
  readonly environment: NodeJS.ProcessEnv
  readonly folders: Folders
}

/** @param given  in place of the settings */
export const gitOf = (
  { config, environment, folders }: CodeSettings,
  given: Partial<Pick<GitSettings, "timeoutMs" | "limits">> = {},
): GitSource =>
  gitSource({
    protocols: gitProtocolsOf(config),
    environment,
    timeoutMs: config.sourceMs,
    homeFolder: folders.gitHome,
    keysFolder: folders.gitKeys,
    ...given,
  })

/** @param limits  default those of a build */
export const sourcesOf = (settings: CodeSettings, limits?: SourceLimits): CodeLookup["sources"] => ({
  git: gitOf(settings, limits && { limits }),
  archive: archiveSource(limits && { ...archiveLimits, ...limits }),
})
