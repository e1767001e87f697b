/** The roles of people, as the API names them. Each may also do what the ones before it may. Pure. */
export const roles = [
  { name: "read", about: "sees deployments, threads, runs and people" },
  { name: "run", about: "starts and cancels runs" },
  { name: "approve", about: "answers agents, changes states" },
  { name: "deploy", about: "changes deployments and secrets, sees changes of code" },
  { name: "admin", about: "may do everything" },
] as const
