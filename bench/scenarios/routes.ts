import { createHash } from 'node:crypto'
import { freePort } from '../../src/embedded/ports.js'
import { canonicalJson } from '../../src/reconcile/hash.js'
import { renderCaddyConfig } from '../../src/reconcile/ingress/render.js'
import { BenchCaddy } from '../caddy.js'
import { targetsWithHosts } from '../hosts.js'
import type { Platform } from '../platform.js'
import { median, rounded } from '../statistics.js'

const hosts = 1_000
const tries = 15

/** What a configuration of a thousand hosts costs: rendering, as text with its hash, loading, reading back. */
export async function routes(platform: Platform) {
  const settings = { httpPort: await freePort(), httpsPort: await freePort() }
  const targets = targetsWithHosts(hosts)
  const rendering: number[] = []
  const hashing: number[] = []
  let config: object = {}
  for (let n = 0; n < tries; n++) {
    const began = performance.now()
    config = renderCaddyConfig(settings, targets, new Map()).config
    const rendered = performance.now()
    createHash('sha256').update(canonicalJson(config)).digest('hex')
    rendering.push(rendered - began)
    hashing.push(performance.now() - rendered)
  }
  const caddy = await BenchCaddy.startOurs(platform.docker)
  try {
    const loading: number[] = []
    const reading: number[] = []
    for (let n = 0; n < tries; n++) {
      const began = performance.now()
      // Caddy does nothing about the same text twice.
      await caddy.load({ ...config, logging: { logs: { [`try${n}`]: { level: 'ERROR' } } } })
      const loaded = performance.now()
      await caddy.readBack()
      loading.push(loaded - began)
      reading.push(performance.now() - loaded)
    }
    return {
      hosts,
      render_ms: rounded(median(rendering)),
      text_and_hash_ms: rounded(median(hashing)),
      config_kb: Math.round(canonicalJson(config).length / 1024),
      load_ms: rounded(median(loading)),
      read_back_ms: rounded(median(reading)),
    }
  } finally {
    await caddy.stop()
  }
}
