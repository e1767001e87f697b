/** The walk through the console of a platform of its own, with an agent that has something on each page. */
import { startPlatform } from "../../testing/platform.js"
import { deployDesk, signedIn } from "../deployed-desk.js"
import { everyPage } from "../every-page.js"
import { truthsOf } from "./truths.js"
import { type Walked, type WalkOptions, walk } from "./walker.js"

export async function walkAPlatform(options: Pick<WalkOptions, "seed" | "wantsMore" | "say">): Promise<Walked> {
  await using platform = await startPlatform()
  const desk = await deployDesk(platform)
  await using browser = await signedIn(platform, platform.credentials.org_api_key)
  // Awaited here: what is used above ends with this function.
  return await walk({ ...options, browser, pages: everyPage(desk), truths: truthsOf(platform, desk.client) })
}
