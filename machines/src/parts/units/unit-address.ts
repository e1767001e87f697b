/** Where units answer. An address is known without asking, and is the same after each restart. Pure. */
import { type Address, unixAddress } from "@superstep/protocol/http/address"
import { type MachineFolders, unitSocket } from "../files/folders.js"

/** Of a unit's Service in a cluster, and of its other objects there. Unit ids are unique, also among installations. */
export const serviceNameOf = (unitId: string): string => `superstep-${unitId}`

export const servicePort = 8000

/** By the cluster's DNS. */
export const serviceAddress = (unitId: string, namespace: string): Address =>
  `http://${serviceNameOf(unitId)}.${namespace}.svc:${servicePort}`

export interface UnitAddresses extends Pick<MachineFolders, "unitSockets"> {
  /** The namespace of a cluster in which units are Services; undefined for units with sockets. */
  readonly servicesIn: string | undefined
}

export const unitAddress = (at: UnitAddresses, unitId: string): Address =>
  at.servicesIn === undefined ? unixAddress(unitSocket(at, unitId)) : serviceAddress(unitId, at.servicesIn)
