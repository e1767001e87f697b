/**
 * Warns about ports on which code of a deployment could listen while the platform restarts and does not. A caller would
 * then send it an API key.
 */
import { readFile } from "node:fs/promises"
import { ifCode, missing } from "@superstep/toolkit/errors/if-code"

// When the kernel does not say: the range that Unix systems reserve for root.
const usualFirst = "1024"

/** @returns  a warning with the remedy; undefined when only root may listen on these ports */
export async function openPortsWarning(ports: readonly number[]): Promise<string | undefined> {
  const reported = await readFile("/proc/sys/net/ipv4/ip_unprivileged_port_start", "utf8").catch(
    ifCode(missing, usualFirst),
  )
  return warningFor(ports, Number(reported))
}

/** Pure. @param first  the lowest port that everybody may listen on */
export function warningFor(ports: readonly number[], first: number): string | undefined {
  const open = ports.filter((port) => port >= first)
  if (open.length === 0) return undefined
  const remedy =
    first > 1
      ? `choose ports below ${first}`
      : "set net.ipv4.ip_unprivileged_port_start to 1024, and choose ports below"
  return `while the platform restarts, code of a deployment may listen on port ${open.join(" and ")} and read callers' keys: ${remedy}`
}
