import { describe, expect, it } from 'vitest'
import { isWithin, pathIssues, type PlacedFields } from './paths.js'

const file = (...paths: string[]) => ({ files: paths.map((path) => ({ path })) })
const volume = (path: string, readOnly?: boolean) => ({ volumes: [{ path, readOnly }] })
const bind = (path: string) => ({ bindMounts: [{ path }] })
const tmpfs = (path: string) => ({ tmpfs: [{ path }] })
const host = 'would lie in a folder of the host'
const memory = 'would lie in a file system in memory'
const engines = 'is a file that the engine writes for every container'
const kernel = 'is a folder of the kernel, without which no container starts'
const twice = 'another mount or file has this path'

describe('pathIssues', () => {
  it.each<[string, PlacedFields, string, string]>([
    ['in a bind mount', { ...bind('/data'), ...file('/data/deep/x') }, 'files.0', host],
    ['in a tmpfs, written otherwise', { ...tmpfs('/t/'), ...file('/t//./x') }, 'files.0', memory],
    [
      'in a volume that is mounted read only',
      { ...volume('/data', true), ...file('/data/x') },
      'files.0',
      'would lie in a volume that is mounted read only',
    ],
    ['in a writable volume within a bind mount', { ...bind('/a'), ...volume('/a/v'), ...file('/a/v/x') }, 'files.0', host],
    [
      'which is the folder of a mount',
      { ...volume('/data/v'), ...file('/data') },
      'files.0',
      'cannot be a file: it is the folder of /data/v',
    ],
    [
      'which is the folder of another file',
      file('/etc/app', '/etc/app/conf'),
      'files.0',
      'cannot be a file: it is the folder of /etc/app/conf',
    ],
    [
      'the same, in the other order',
      file('/etc/app/conf', '/etc/app'),
      'files.1',
      'cannot be a file: it is the folder of /etc/app/conf',
    ],
    ['/etc, which every container has', file('/etc'), 'files.0', 'cannot be a file: it is the folder of /etc/hosts'],
    ['/', file('//'), 'files.0', 'must name a file: a path that ends with / is a folder'],
    ['a folder by its end', file('/etc/app/'), 'files.0', 'must name a file: a path that ends with / is a folder'],
    ['a folder by its dot', file('/etc/app/.'), 'files.0', 'must name a file: a path that ends with / is a folder'],
    ['in /proc', file('/proc/x'), 'files.0', 'would lie in /proc, which the engine mounts at the start'],
    ['/sys', file('/sys'), 'files.0', 'would lie in /sys, which the engine mounts at the start'],
    ['in /dev/shm', file('/dev/shm/x'), 'files.0', 'would lie in /dev, which the engine mounts at the start'],
    ['that the engine writes', file('/etc/resolv.conf'), 'files.0', engines],
    ['where a mount is', { ...bind('/data'), ...file('/data') }, 'files.0', twice],
    ['twice', file('/a', '//a'), 'files.1', twice],
  ])('a file %s -> on its path, once', (_what, spec, at, message) => {
    expect(pathIssues(spec)).toEqual([{ path: [...at.split('.').map((p) => (/\d/.test(p) ? Number(p) : p)), 'path'], message }])
  })

  it.each<[string, PlacedFields, string, string]>([
    ['two at one place', { ...volume('/data'), ...tmpfs('/data/') }, 'tmpfs', twice],
    ['a volume at /, written otherwise', volume('/./'), 'volumes', 'must name a place below /'],
    ['a bind mount at //', bind('//'), 'bindMounts', 'must name a place below /'],
    ['a volume in /proc', volume('/proc/x'), 'volumes', kernel],
    ['a tmpfs on /dev', tmpfs('/dev'), 'tmpfs', kernel],
    ['a volume on a file of the engine', volume('/etc/hosts'), 'volumes', engines],
  ])('%s -> on its path', (_what, spec, field, message) => {
    expect(pathIssues(spec)).toEqual([{ path: [field, 0, 'path'], message }])
  })

  it.each<[string, PlacedFields]>([
    ['a file in a writable volume', { ...volume('/data'), ...file('/data/deep/x') }],
    ['a mount in a mount', { ...bind('/data'), ...volume('/data/v'), ...tmpfs('/data/v/t') }],
    ['names that only begin alike', { ...bind('/data'), ...file('/database', '/dat', '/processes/x', '/device') }],
    ['files beside each other', file('/etc/app/a', '/etc/app/b', '/etc/hosts.d/x', '/run/x')],
    [
      'a tmpfs on /dev/shm, folders of the host on /sys and in /proc',
      { ...tmpfs('/dev/shm'), bindMounts: [{ path: '/sys' }, { path: '/proc/cpuinfo' }] },
    ],
    ['no path at all, which is refused elsewhere', { ...tmpfs('/'), ...file('', 'etc/') }],
    ['nothing at all', {}],
  ])('%s -> nothing', (_what, spec) => {
    expect(pathIssues(spec)).toEqual([])
  })
})

describe('isWithin', () => {
  it.each([
    ['/a/b', '/a', true],
    ['/a', '/a/', true],
    ['/ab', '/a', false],
    ['/a', '/a/b', false],
    ['/a', '/', true],
  ])('%s in %s -> %s', (path, folder, expected) => expect(isWithin(path, folder)).toBe(expected))
})
