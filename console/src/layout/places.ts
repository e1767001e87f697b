/** The pages that navigation, palette and keyboard lead to: one table for all three. Pure. */
export type PlaceIcon =
  | "Activity"
  | "Bot"
  | "Boxes"
  | "CalendarClock"
  | "Database"
  | "Gauge"
  | "GitCommitHorizontal"
  | "Hand"
  | "History"
  | "MessagesSquare"
  | "Rows3"
  | "ScrollText"
  | "Settings"
  | "SlidersHorizontal"

export interface Place {
  readonly to: string
  readonly label: string
  /** The name of an icon in `frame/icons.tsx`. */
  readonly icon: PlaceIcon
  /** The key that leads here after `g`. */
  readonly key?: string
  /** Whether pages below it have items of their own. */
  readonly isExact?: boolean
}

export interface PlaceGroup {
  /** Undefined for the pages that are no deployment's. */
  readonly deployment?: string
  readonly places: readonly Place[]
}

const agentPages = [
  { page: "threads", label: "Threads", icon: "MessagesSquare", key: "t" },
  { page: "runs", label: "Runs", icon: "History", key: "r" },
  { page: "approvals", label: "Approvals", icon: "Hand", key: "w" },
  { page: "queue", label: "Queue", icon: "Rows3", key: "q" },
  { page: "crons", label: "Crons", icon: "CalendarClock", key: "c" },
  { page: "assistants", label: "Assistants", icon: "Bot", key: "i" },
  { page: "store", label: "Store", icon: "Database", key: "e" },
] as const

/** @param base  `/deployments/<id>/agent`, or "" below `superstep dev` */
export const agentPlaces = (base: string): readonly Place[] =>
  agentPages.map(({ page, ...place }) => ({ ...place, to: `${base}/${page}` }))

/** @param isInDeployment  whether a deployment's own pages are listed beside them */
export const platformPlaces = (isInDeployment: boolean): readonly Place[] => [
  { to: "/", label: "Deployments", icon: "Boxes", key: "d", isExact: !isInDeployment },
  { to: "/runs", label: "Runs", icon: "History", key: "u" },
  { to: "/approvals", label: "Approvals", icon: "Hand", key: "a" },
  { to: "/system", label: "System", icon: "Activity", key: "y" },
  { to: "/settings", label: "Settings", icon: "Settings", key: "s" },
]

export function deploymentPlaces(deploymentId: string): readonly Place[] {
  const base = `/deployments/${deploymentId}`
  return [
    { to: base, label: "Overview", icon: "Gauge", key: "o", isExact: true },
    { to: `${base}/revisions`, label: "Revisions", icon: "GitCommitHorizontal", key: "v" },
    { to: `${base}/logs`, label: "Logs", icon: "ScrollText", key: "l" },
    ...agentPlaces(`${base}/agent`),
    { to: `${base}/settings`, label: "Settings", icon: "SlidersHorizontal", key: "n" },
  ]
}
