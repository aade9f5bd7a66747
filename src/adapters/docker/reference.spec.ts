import { describe, expect, it } from 'vitest'
import { compareVersions } from './docker-client.js'
import { upSecondsOf } from './dockerode-engine.js'
import { bridgeName } from './network-body.js'
import { matchingDigest, registryHostOf, repositoryOf } from './reference.js'

describe('repositoryOf', () => {
  it.each([
    ['nginx', 'nginx'],
    ['nginx:1.30', 'nginx'],
    ['localhost:5000/a/b', 'localhost:5000/a/b'],
    ['localhost:5000/a/b:1@sha256:0', 'localhost:5000/a/b'],
  ])('%s -> %s', (reference, repository) => expect(repositoryOf(reference)).toBe(repository))
})

describe('registryHostOf', () => {
  it.each([
    ['nginx', 'docker.io'],
    ['evenkeel/testapp:1', 'docker.io'],
    ['localhost/a', 'localhost'],
    ['localhost:5000/a', 'localhost:5000'],
    ['registry.example/a/b:1', 'registry.example'],
  ])('%s -> %s', (reference, host) => expect(registryHostOf(reference)).toBe(host))
})

describe('matchingDigest', () => {
  const digests = ['mirror.example/library/nginx@sha256:1', 'nginx@sha256:2']
  it.each([
    ['nginx:latest', 'nginx@sha256:2'],
    ['docker.io/library/nginx', 'nginx@sha256:2'],
    ['mirror.example/library/nginx:1', 'mirror.example/library/nginx@sha256:1'],
    ['other/nginx', null],
  ])('%s -> %s', (reference, digest) => expect(matchingDigest(reference, digests)).toBe(digest))
})

describe('compareVersions', () => {
  it('1.9 is older than 1.41', () => {
    expect(compareVersions('1.9', '1.41')).toBeLessThan(0)
    expect(compareVersions('1.44', '1.44')).toBe(0)
    expect(compareVersions('2.0', '1.99')).toBeGreaterThan(0)
  })
})

describe('bridgeName', () => {
  it('any network name -> a name that fits an interface', () => {
    expect(bridgeName('evenkeel-'.padEnd(80, 'x')).length).toBeLessThanOrEqual(15)
    expect(bridgeName('a')).not.toBe(bridgeName('b'))
  })
})

describe('upSecondsOf', () => {
  it.each([
    ['Up Less than a second', 0],
    ['Up 1 second', 1],
    ['Up 59 seconds (healthy)', 59],
    ['Up About a minute', null],
    ['Up 3 minutes (Paused)', null],
    ['Exited (0) 5 seconds ago', null],
    ['Restarting (1) 2 seconds ago', null],
    ['Created', null],
  ])('%s -> %s', (status, seconds) => expect(upSecondsOf(status)).toBe(seconds))
})
