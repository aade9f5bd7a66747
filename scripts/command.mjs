import { spawn } from 'node:child_process'
import { ROOT } from './root.mjs'

/** Signals that are for the program that runs inside us. */
const PASSED_ON = ['SIGINT', 'SIGTERM', 'SIGHUP']

/**
 * Runs a program with our own input and output and returns its exit code. We end when it has ended and not before,
 * so that Ctrl-C lets it finish; a signal that only we got is passed on.
 */
export function runToEnd(file, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } })
    // From a terminal the whole group gets Ctrl-C: passing it on would count as a second, impatient one.
    const pass = (signal) => (signal === 'SIGINT' && process.stdin.isTTY ? undefined : child.kill(signal))
    for (const signal of PASSED_ON) process.on(signal, pass)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      for (const name of PASSED_ON) process.off(name, pass)
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1))
    })
  })
}

/** Runs a step of the preparation quietly; its output is shown only when it fails. */
export function runQuietly(file, args, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } })
    const output = []
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? 1, output: Buffer.concat(output).toString('utf8') }))
  })
}
