/**
 * Loaded into every process that the supervisor starts (node --import): when the supervisor is gone, however it went,
 * the process ends as if it had been asked to. So a killed supervisor leaves nothing behind that would hold ports.
 */
if (process.channel) {
  process.channel.unref()
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
}
