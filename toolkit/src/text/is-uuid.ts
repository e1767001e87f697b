const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Whether Postgres reads it as a `uuid`, in the form with hyphens. */
export const isUuid = (text: string): boolean => uuid.test(text)
