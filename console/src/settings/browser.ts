/** The name of a browser, from what it says of itself: enough to recognize one's own. Pure. */

// Most name others, too, for the sake of old sites: the first that fits is the right one.
const browsers: readonly (readonly [name: string, mark: RegExp])[] = [
  ["Edge", /\bEdg\//],
  ["Opera", /\bOPR\//],
  ["Firefox", /\bFirefox\//],
  ["Chrome", /\b(Headless)?Chrome\//],
  ["Safari", /\bSafari\//],
]
const systems: readonly (readonly [name: string, mark: RegExp])[] = [
  ["iPhone", /\biPhone\b/],
  ["iPad", /\biPad\b/],
  ["Android", /\bAndroid\b/],
  ["Windows", /\bWindows\b/],
  ["macOS", /\bMacintosh\b/],
  ["Linux", /\bLinux\b/],
]

/** @param userAgent  null: it said nothing */
export function browserOf(userAgent: string | null): string {
  const nameIn = (known: typeof browsers) => known.find(([, mark]) => mark.test(userAgent ?? ""))?.[0]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  if (browser === undefined) return "Another program"
  return system === undefined ? browser : `${browser} on ${system}`
}
