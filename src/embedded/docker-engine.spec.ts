import { describe, expect, it } from 'vitest'
import { isDebianLike, refuseEngine, type EngineFacts } from './docker-engine.js'

const ordinary: EngineFacts = {
  version: '28.2.2',
  components: ['Engine', 'containerd', 'runc'],
  operatingSystem: 'Debian GNU/Linux 12 (bookworm)',
  osType: 'linux',
  securityOptions: ['name=seccomp,profile=default'],
}

describe('refuseEngine', () => {
  it.each(['20.10.24+dfsg1', '23.0.1', '28.2.2', '29.1.0', '31.0.0'])('version %s -> accepted', (version) => {
    expect(refuseEngine({ ...ordinary, version })).toBeUndefined()
  })

  it.each<[string, Partial<EngineFacts>, string]>([
    ['too old', { version: '20.9.1' }, 'version 20.9.1, which is too old'],
    ['much too old', { version: '1.13.1' }, 'too old'],
    ['Podman', { components: ['Podman Engine', 'Conmon'] }, 'is Podman'],
    ['Docker Desktop', { operatingSystem: 'Docker Desktop' }, 'is Docker Desktop'],
    ['rootless', { securityOptions: ['name=seccomp', 'name=rootless'] }, 'is rootless'],
    ['Windows containers', { osType: 'windows' }, 'runs windows containers'],
  ])('%s -> one sentence that says so and what to use', (_, change, sentence) => {
    const refusal = refuseEngine({ ...ordinary, ...change })
    expect(refusal).toContain(sentence)
    expect(refusal).toContain('Use the ordinary Docker engine')
  })
})

describe('isDebianLike', () => {
  it.each([
    ['ID=debian\nVERSION_ID="12"', true],
    ['NAME="Ubuntu"\nID=ubuntu\nID_LIKE=debian', true],
    ['ID=linuxmint\nID_LIKE="ubuntu debian"', true],
    ['ID=fedora', false],
    ['ID="rocky"\nID_LIKE="rhel centos fedora"', false],
    ['', false],
  ])('%j -> %s', (release, expected) => expect(isDebianLike(release)).toBe(expected))
})
