/** The roles of people, as the API names them. Each may also do what the ones before it may. Pure. */
export const roles = [
  { name: "read", about: "sees everything but secrets" },
  { name: "run", about: "starts runs" },
  { name: "approve", about: "answers agents, changes states" },
  { name: "deploy", about: "changes deployments and secrets" },
  { name: "admin", about: "may do everything" },
] as const
