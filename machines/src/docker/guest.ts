/** How an image that somebody else built becomes two containers: the guest, and the companion that makes it a unit. Pure. */
import { join } from "node:path"
import { revealAll } from "@superstep/toolkit/config/settings"
import { settingsFileVariable } from "@superstep/toolkit/config/settings-file"
import type { UnitSpec } from "../port/port.js"
import { bind, type ContainerPlace, confined, inside, labels, readOnly, thisComputer, unitLabels } from "./container.js"

/** Where a guest listens. */
export const guestPort = 8000

export type GuestPlace = Pick<
  ContainerPlace,
  "homeId" | "image" | "network" | "user" | "databaseFolder" | "certificates"
> & {
  /** Variables of this computer that user code needs, such as proxies. */
  readonly environment: Readonly<Record<string, string>>
}

/** Its secrets are variables, which the engine shows: a server of somebody else reads nothing else. */
export function guestOf(spec: UnitSpec, place: GuestPlace) {
  const { databaseFolder, network } = place
  const database = spec.databaseUri.reveal()
  return confined({
    ...place,
    environment: {
      HOME: "/tmp",
      ...place.environment,
      ...revealAll(spec.secrets),
      // Both names are in use.
      DATABASE_URI: database,
      POSTGRES_URI: database,
      PORT: String(guestPort),
    },
    limits: spec.limits,
    labels: { ...unitLabels(spec, place.homeId), [labels.guest]: "1" },
    hosts: network === "none" || network === "host" ? [] : [thisComputer],
    binds: [
      ...place.certificates.map(readOnly),
      ...(databaseFolder === undefined ? [] : [readOnly({ from: databaseFolder, to: databaseFolder })]),
    ],
  })
}

export interface CompanionPlace
  extends Pick<ContainerPlace, "homeId" | "image" | "user" | "unitFolder" | "socketFolder"> {
  /** The container of the guest, whose network it shares. */
  readonly guestId: string
  readonly path: string
}

export const companionName = (unitId: string): string => `superstep-companion-${unitId}`

// It carries bytes and keeps none.
const companionMemoryMb = 256

export const companionOf = ({ unitId, revisionId }: UnitSpec, place: CompanionPlace) =>
  confined({
    ...place,
    network: `container:${place.guestId}`,
    environment: {
      PATH: place.path,
      NODE_ENV: "production",
      NODE_OPTIONS: `--max-old-space-size=${companionMemoryMb / 2}`,
      PORT: String(guestPort),
      SUPERSTEP_LISTEN: `unix:${inside.socket}`,
      SUPERSTEP_REVISION_ID: revisionId,
      [settingsFileVariable]: join(inside.unit, "tmp", "settings.json"),
    },
    limits: { memoryMb: companionMemoryMb, cpu: undefined },
    labels: { [labels.home]: place.homeId, [labels.companion]: unitId },
    // The network's are the guest's.
    hosts: [],
    binds: [bind(join(place.unitFolder, "tmp"), join(inside.unit, "tmp")), bind(place.socketFolder, inside.sockets)],
  })
