/** The walk through the console of a platform of its own. */
import { startPlatform } from "../../testing/platform.js"
import { signedIn, signIn } from "../deployed-desk.js"
import { furnish } from "./furnishing.js"
import { truthsOf } from "./truths.js"
import { type Walked, type WalkOptions, walk } from "./walker.js"

export async function walkAPlatform(options: Pick<WalkOptions, "seed" | "minutes" | "steps" | "say">): Promise<Walked> {
  await using platform = await startPlatform()
  await using furnishing = await furnish(platform)
  const key = platform.credentials.org_api_key
  await using browser = await signedIn(platform, key)
  const signInAgain = () => signIn(browser, platform, key)
  // Awaited here: what is used above ends with this function.
  return await walk({ ...options, browser, furnishing, signInAgain, truths: truthsOf(platform) })
}
