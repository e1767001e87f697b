/** Addresses of peers, and the reverse proxies among them whose forwarding headers are believed. Pure. */
import { BlockList, isIP, isIPv6 } from "node:net"
import { z } from "zod"

/** A list of addresses and networks, separated by commas. */
export const networks = z
  .string()
  .default("")
  .transform((text, context) => {
    const list = new BlockList()
    for (const entry of text.split(",").map((part) => part.trim())) {
      if (entry !== "" && !addNetwork(list, entry)) {
        context.addIssue({ code: "custom", message: `${entry} is not an address or a network such as 10.0.0.0/8` })
      }
    }
    return list
  })

/** What is wrong with such a list; undefined where nothing is. */
export const networksProblem = (text: string): string | undefined =>
  networks
    .safeParse(text)
    .error?.issues.map(({ message }) => message)
    .join(", ")

function addNetwork(list: BlockList, entry: string): boolean {
  const [address = "", bits] = entry.split("/")
  const version = isIP(address)
  const widest = version === 6 ? 128 : 32
  if (version === 0 || (bits !== undefined && !(/^\d+$/.test(bits) && Number(bits) <= widest))) return false
  list.addSubnet(address, Number(bits ?? widest), version === 6 ? "ipv6" : "ipv4")
  return true
}

/** Returns whether an address is that of a trusted proxy. */
export function isTrusted(proxies: BlockList, address: string): boolean {
  const plain = plainAddress(address)
  return isIP(plain) !== 0 && proxies.check(plain, isIPv6(plain) ? "ipv6" : "ipv4")
}

/** Returns the IPv4 address in `::ffff:10.0.0.1` (an IPv4 caller on a dual-stack socket), any other address unchanged. */
export const plainAddress = (address: string): string =>
  isIPv6(address) ? address.replace(/^::ffff:(?=\d+\.)/i, "") : address
