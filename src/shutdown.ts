/** Runs `stop` once, at the first SIGTERM or SIGINT; a second signal ends the process at once. */
export function onShutdown(stop: () => void): void {
  let stopping = false
  const signalled = () => {
    if (stopping) process.exit(1)
    stopping = true
    stop()
  }
  process.on('SIGTERM', signalled)
  process.on('SIGINT', signalled)
}
