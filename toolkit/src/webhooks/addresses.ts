/** Classifies an IP address by its network, however it is written. Pure. */
import { BlockList, isIP, isIPv4 } from "node:net"

/**
 * `never`: link-local, where clouds serve their metadata, and addresses that are no host. `loopback`: this machine.
 * `private`: the operator's own network. `public`: the rest.
 */
export type AddressKind = "public" | "private" | "loopback" | "never"

function blocks(...ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = "", bits] = range.split("/")
    list.addSubnet(address, Number(bits), isIPv4(address) ? "ipv4" : "ipv6")
  }
  return list
}

const never = blocks(
  "0.0.0.0/8",
  // Link-local: cloud metadata at 169.254.169.254.
  "169.254.0.0/16",
  // Metadata of clouds that serve it elsewhere: in the range of carriers, and in that of local IPv6 networks.
  "100.100.100.200/32",
  "fd00:ec2::254/128",
  "192.0.0.0/24",
  // Documentation and benchmarks.
  "192.0.2.0/24",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  // Multicast, or reserved.
  "224.0.0.0/4",
  "240.0.0.0/4",
  "::/128",
  "100::/64",
  // Tunnels with an unknown end.
  "64:ff9b:1::/48",
  "2001::/32",
  "2001:db8::/32",
  "fe80::/10",
  "fec0::/10",
  "ff00::/8",
)
const loopback = blocks("127.0.0.0/8", "::1/128")
const local = blocks("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")

/** @param address  an IP address as DNS or a URL gives it, without brackets */
export function addressKind(address: string): AddressKind {
  const [text = ""] = address.split("%")
  if (isIP(text) === 0) return "never"
  if (isIPv4(text)) return kindIn(text, "ipv4")
  const groups = groupsOf(text)
  const inner = embeddedIPv4(groups)
  if (inner !== undefined) return kindIn(inner, "ipv4")
  return kindIn(text, "ipv6")
}

function kindIn(address: string, family: "ipv4" | "ipv6"): AddressKind {
  if (never.check(address, family)) return "never"
  if (loopback.check(address, family)) return "loopback"
  return local.check(address, family) ? "private" : "public"
}

/** The eight groups of an IPv6 address that `isIP` has accepted. */
function groupsOf(address: string): number[] {
  // The URL parser writes every form in one way, also those that end in an IPv4 address.
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [head = "", tail] = text.split("::")
  const numbers = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)))
  const [before, after] = [numbers(head), numbers(tail ?? "")]
  return [...before, ...Array<number>(8 - before.length - after.length).fill(0), ...after]
}

/** The IPv4 address inside an IPv6 address: mapped, translated, compatible, NAT64 and 6to4. */
function embeddedIPv4(groups: readonly number[]): string | undefined {
  const [g0 = 0, g1 = 0, g2 = 0] = groups
  const [high = 0, low = 0] = groups.slice(6)
  const startsWith = (...prefix: number[]) => prefix.every((group, index) => groups[index] === group)
  const isMapped = startsWith(0, 0, 0, 0, 0, 0xffff)
  // For translators between the two (RFC 2765).
  const isTranslated = startsWith(0, 0, 0, 0, 0xffff, 0)
  const isNat64 = startsWith(0x64, 0xff9b, 0, 0, 0, 0)
  // `::` and `::1` are addresses of their own.
  const isCompatible = startsWith(0, 0, 0, 0, 0, 0) && high > 0
  if (isMapped || isTranslated || isNat64 || isCompatible) return dotted(high, low)
  return g0 === 0x2002 ? dotted(g1, g2) : undefined
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join(".")
