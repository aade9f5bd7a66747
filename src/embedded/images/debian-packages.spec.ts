import { describe, expect, it } from 'vitest'
import { parseUris } from './debian-packages.js'

describe('parseUris', () => {
  it('what apt prints -> address and file name of each archive, nothing else', () => {
    const printed = [
      'Reading package lists...',
      "'http://example.org/pool/n/nginx/nginx_1.22.1-9_amd64.deb' nginx_1.22.1-9_amd64.deb 526096 SHA256:00ff",
      "'http://example.org/pool/z/zlib/zlib1g_1.2.13_amd64.deb' zlib1g_1%3a1.2.13_amd64.deb 86720 ",
      '',
    ].join('\n')
    expect(parseUris(printed)).toEqual([
      { uri: 'http://example.org/pool/n/nginx/nginx_1.22.1-9_amd64.deb', fileName: 'nginx_1.22.1-9_amd64.deb' },
      { uri: 'http://example.org/pool/z/zlib/zlib1g_1.2.13_amd64.deb', fileName: 'zlib1g_1%3a1.2.13_amd64.deb' },
    ])
  })
})
