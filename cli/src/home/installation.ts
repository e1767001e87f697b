/** The installation that a command means. */
import { existsSync } from "node:fs"
import { KnownError } from "@superstep/toolkit/errors/errors"
import type { Config } from "../command-line/config.js"
import { quoted } from "../output/shell-word.js"
import { type Home, homeAt, openHome } from "./home.js"
import { type RunningInstallation, runningInstallations } from "./running-installations.js"

export class NoInstallation extends KnownError {
  readonly code = "no_installation"
}

export interface Located {
  readonly home: Home
  /** Whether the caller has named it. */
  readonly isNamed: boolean
  /** Whether the caller has named no data folder, and it is that of the only installation that runs. */
  readonly isFound: boolean
  /** Those that run, unless an installation is where the caller is or has said. */
  readonly running: readonly RunningInstallation[]
}

/**
 * The data folder that `--home` or SUPERSTEP_HOME names, else `.superstep` in the current folder if an installation is there, else that of the
 * only installation of this user that runs on this machine. Creates nothing.
 * @param named  by `--home`
 */
export async function locateHome(named: string | undefined, config: Config): Promise<Located> {
  const home = homeAt(named ?? config.home)
  const isNamed = named !== undefined || config.environment.SUPERSTEP_HOME !== undefined
  const running = isInstallation(home) ? [] : await runningInstallations(config.environment)
  const only = !isNamed && running.length === 1 ? running[0] : undefined
  if (only) return { home: homeAt(only.folder), isNamed, isFound: true, running }
  return { home, isNamed, isFound: false, running }
}

/** Its first start has come so far that clients can call it; the data folder of `superstep dev` is none. */
export const isInstallation = ({ credentials }: Home): boolean => existsSync(credentials)

/**
 * Like `locateHome`.
 * @throws NoInstallation  there is none
 */
export async function locateInstallation(named: string | undefined, config: Config): Promise<Home> {
  const located = await locateHome(named, config)
  if (isInstallation(located.home)) return located.home
  throw noneIn(located)
}

function noneIn({ home, running }: Located): NoInstallation {
  const ways = running.map(({ folder }) => `--home ${quoted(folder)}`)
  const advice = ways.length > 0 ? `choose one that runs with ${ways.join(" or ")}` : "name its data folder with --home"
  return new NoInstallation(`there is no installation in ${home.folder}: ${advice}, or start one with superstep up`)
}

/**
 * For commands that work with the control plane's database, which they may do before the first start.
 * @throws NoInstallation  several run, and the caller has named none
 */
export async function openInstallation(named: string | undefined, config: Config): Promise<Home> {
  if (config.databaseUri) return openHome(named ?? config.home)
  const located = await locateHome(named, config)
  const { home, isNamed, running } = located
  if (isNamed || isInstallation(home) || running.length === 0) return openHome(home.folder)
  throw noneIn(located)
}
