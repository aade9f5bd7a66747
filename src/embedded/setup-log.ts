/** Takes one line for the person who started the set-up; never a secret. */
export type SetupLog = (line: string) => void
