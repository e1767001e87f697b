/** A store with the default settings. */
import type { Database } from "@superstep/toolkit/db/database"
import { type Store, storeSettings } from "../store-settings.js"

export const storeOf = (db: Database, over: Partial<Store> = {}): Store => ({
  ...storeSettings({}),
  db,
  embed: async ({ embed }) => {
    throw new Error(`no worker has the embedding "${embed}"`)
  },
  ...over,
})
